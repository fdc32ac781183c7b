"""Every exit code of the design, each with a sentence that says what to do."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from commands import HERE, USER_ADMIN, Hintproof, Verified, rogue, server

NOWHERE = "unix:///nowhere/docker.sock"
WALLED = (sys.executable, str(HERE / "in_a_bare_place.py"), "walled", "-")


def test_0_when_nothing_is_contradicted(hintproof: Hintproof) -> None:
    done = hintproof("verify", *server(USER_ADMIN / "honest/server.py"))
    assert done.code == 0, done.err
    assert "0 contradicted" in done.out


def test_1_when_something_is_contradicted(lie: Verified) -> None:
    assert lie.done.code == 1, lie.done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verfy"], "Did you mean verify?"),
        (["verify"], "the server's command after --"),
        (["verify", "server.py"], "Name the server's command after --, such as: -- python server.py"),
        (["verify", "--sead", "1", *rogue("words")], "--seed"),
        (["verify", "--limit", "memry_mb=9", *rogue("words")], "Did you mean memory_mb?"),
        (["verify", "--fail-on", "contradict", *rogue("words")], "Did you mean contradicted?"),
        (["verify", "--profile", "spek", *rogue("words")], "Did you mean spec?"),
        (["verify", "--transport", "http", *rogue("words")], "needs --port"),
        (["verify", "-e", "NOT_SET_ANYWHERE", *rogue("words")], "NOT_SET_ANYWHERE"),
        (["verify", "--", "no-such-command-here"], "no such command in PATH"),
        (["verify", "--host", "dockr", *rogue("words")], "Did you mean docker?"),
        (["verify", "oci:Not Like That"], "no image is named like that"),
        (["verify", "oci:./gone.tar"], "there is no such archive"),
        (["verify", "oci:x", "y"], "'y' is not a target"),
        (["list", "oci:x", "--image", "y"], "oci:x cannot be named as well"),
        (["arguments", "oci:./gone.tar", "words"], "there is no such archive"),
        (["investigate", "oci:./gone.tar", "words"], "there is no such archive"),
        (["investigate", "words"], "No target for the tool words."),
        (["investigate"], "No tool named."),
        (["investigate", "words", "oci:x"], "The target comes before the tool: oci:x words."),
        (["investigate", "oci:x"], "No tool named for oci:x."),
        (["verify", "--runs", "/proc/version/runs", *rogue("words")], "--runs DIR"),
        (["investigate", "wrods", *rogue("words")], "Did you mean: words?"),
        (["investigate", "words", "--args", "{", *rogue("words")], "not JSON"),
        (["investigate", "words", "--args", "[1]", *rogue("words")], "an object is needed"),
        (["arguments", "wrods", *rogue("words")], "It lists: words"),
        (["run", "nowhere"], "no such scenario file or folder"),
        (["run", "--json", str(USER_ADMIN)], "--json"),
        (["judge"], "there is no such run"),
        (["replay", "0123456789"], "holds a finding '0123456789'"),
        (["explain", "observedonce"], "Did you mean observed-once"),
    ],
    ids=lambda value: " ".join(value).split(" --")[0] if isinstance(value, list) else "",
)
def test_2_for_what_cannot_be_meant_with_the_nearest_valid_name(
    hintproof: Hintproof, words: list[str], said: str
) -> None:
    done = hintproof(*words)
    assert said in done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    assert done.code == 2


def test_2_where_the_current_folder_is_gone(hintproof: Hintproof, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    leaving = ("sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', str(gone))
    done = hintproof("verify", *rogue("words"), before=leaving)
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert "The current folder is gone." in done.err


def test_2_for_a_settings_file_with_an_unknown_key_and_where_it_stands(
    hintproof: Hintproof, tmp_path: Path
) -> None:
    (tmp_path / "hintproof.toml").write_text('seed = 3\nbugdet = "20calls"\n')
    done = hintproof("verify", *rogue("words"))
    assert done.code == 2
    assert "hintproof.toml:2: no setting is called bugdet. Did you mean budget?" in done.err


def test_3_when_the_server_does_not_start_with_its_last_words(hintproof: Hintproof, tmp_path: Path) -> None:
    done = hintproof("verify", *rogue("dies"))
    assert done.code == 3
    assert "cannot start: no token" in done.err
    assert list((tmp_path / ".hintproof/runs").iterdir()) == []  # a run that came to nothing leaves nothing


def test_4_where_there_can_be_no_sandbox_with_the_cure(hintproof: Hintproof) -> None:
    for host in ("local", "auto"):
        done = hintproof("verify", "--host", host, *rogue("words"), before=WALLED, DOCKER_HOST=NOWHERE)
        assert done.code == 4, done.err
        assert "max_user_namespaces" in done.err
        assert ("no Docker engine listens" in done.err) == (host == "auto")

    doctor = hintproof("doctor", "--host", "local", before=WALLED)
    assert doctor.code == 4
    assert "max_user_namespaces" in doctor.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (rogue("no_tools"), "The server lists no tools"),
        (("--tool", "nothing*", *rogue("words")), "The server lists: words"),
        (rogue("refuses"), "never-accepted"),
    ],
    ids=["no-tools", "no-such-tools", "all-refused"],
)
def test_5_when_nothing_could_be_verified(hintproof: Hintproof, words: tuple[str, ...], said: str) -> None:
    done = hintproof("verify", *words)
    assert done.code == 5, done.err
    assert said in done.out + done.err


def test_70_for_a_fault_of_ours_which_never_passes_for_a_verdict(
    hintproof: Hintproof, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sandbox.policy as policy\n"
        "def explain(code): raise ZeroDivisionError('\\x1b[31m' + code)\n"
        "policy.explain = explain\n"
    )
    done = hintproof("explain", "moot", PYTHONPATH=f"{tmp_path}:{HERE.parents[1]}")
    assert done.code == 70
    assert "ZeroDivisionError: \\x1b[31mmoot" in done.err
    assert "a fault of hintproof, not of the server" in done.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 1),
        (["--fail-on", "never"], 0),
        (["--min-severity", "high"], 1),
        (["--fail-on", "never", "--min-coverage", "100"], 0),
    ],
)
def test_the_ladder_decides_what_a_contradiction_is_worth(
    hintproof: Hintproof, lie: Verified, words: list[str], code: int
) -> None:
    assert hintproof("judge", *words, cwd=lie.folder).code == code


def test_run_ends_with_the_worst_of_its_scenarios(hintproof: Hintproof, tmp_path: Path) -> None:
    shutil.copytree(USER_ADMIN / "honest", tmp_path / "honest")
    expected = hintproof("run", "honest", "-q")
    assert (expected.code, expected.err) == (0, "")
    assert "as expected (8 expectations)" in expected.out

    scenario = tmp_path / "honest/user-admin.hintproof.yaml"
    scenario.write_text(scenario.read_text().replace("consistent", "contradicted", 1))
    unmet = hintproof("run", "honest", "-q")
    assert unmet.code == 1
    assert "not as expected" in unmet.out
    assert "list_users readOnlyHint" in unmet.out

    scenario.write_text("hintproof: 0\ntarget: [python3, -c, 'raise SystemExit(1)']\n")
    assert hintproof("run", "honest", "-q").code == 3
