"""What an engine's container can do: nothing but build boxes."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from sandbox.containers.connection import Docker
from sandbox.containers.container import EngineContainer
from sandbox.containers.ownimage import PYTHON
from sandbox.containers.seccomp import profile
from sandbox.containers.spec import ContainerRung, ContainerSpec, Mount
from sandbox.containers.trial import try_rung
from sandbox.errors import ContainerRefusedError, ImageMissingError
from sandbox.linux.numbers import MACHINES

pytestmark = pytest.mark.docker

ORDINARY = ContainerRung("user", "4321:8765", (), "no capability, as an ordinary user")

# Not known to the boxes' filter. include/uapi/asm-generic/unistd.h and arch/x86/entry/syscalls/syscall_64.tbl
_OTHER = {
    "x86_64": {
        "fanotify_init": 300,
        "fanotify_mark": 301,
        "kcmp": 312,
        "migrate_pages": 256,
        "move_pages": 279,
        "_sysctl": 156,
        "create_module": 174,
        "get_kernel_syms": 177,
        "lookup_dcookie": 212,
        "nfsservctl": 180,
        "query_module": 178,
        "sysfs": 139,
        "uselib": 134,
        "ustat": 136,
    },
    "aarch64": {
        "fanotify_init": 262,
        "fanotify_mark": 263,
        "kcmp": 272,
        "migrate_pages": 238,
        "move_pages": 239,
        "lookup_dcookie": 18,
        "nfsservctl": 42,
    },
}


def run(docker: Docker, image: str, *words: str, rung: ContainerRung = ORDINARY, **spec: object) -> list[str]:
    """The lines that a command in the container writes."""
    made = ContainerSpec(image, words, rung, **spec)  # type: ignore[arg-type]
    with EngineContainer.start(docker, made) as container:
        lines = [line.decode() for line in container.lines()]
        assert container.wait() == 0, container.stderr_tail()
    return lines


def status(docker: Docker, image: str, rung: ContainerRung) -> dict[str, str]:
    lines = run(docker, image, "cat", "/proc/self/status", rung=rung)
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def test_an_ordinary_engine_has_no_capability_and_can_get_none(docker: Docker, image: str) -> None:
    found = status(docker, image, ORDINARY)
    assert {found[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert found["NoNewPrivs"] == "1"
    assert found["Seccomp"] == "2"
    assert found["Uid"].split() == ["4321"] * 4
    assert found["Gid"].split() == ["8765"] * 4


def test_roots_engine_has_three_capabilities(docker: Docker, image: str) -> None:
    root = ContainerRung("root", "0:0", ("SETFCAP", "SETGID", "SETUID"), "")
    found = status(docker, image, root)
    setgid, setuid, setfcap = 1 << 6, 1 << 7, 1 << 31  # linux/capability.h
    assert int(found["CapEff"], 16) == int(found["CapBnd"], 16) == setgid | setuid | setfcap
    assert found["NoNewPrivs"] == "1"


def test_there_is_no_network_no_docker_and_nothing_to_write_but_the_scratch(
    docker: Docker, image: str
) -> None:
    script = (
        "ls /sys/class/net; ls /var/run/docker.sock 2>/dev/null; cat /proc/net/route | tail -n +2;"
        "for folder in / /etc /run /var/tmp /opt/hintproof /dev; do touch $folder/x 2>/dev/null && echo wrote $folder; done;"
        "cp /bin/true $TMPDIR/program && $TMPDIR/program && echo ran; cd && pwd"
    )
    assert run(docker, image, "sh", "-c", script) == ["lo", "ran", "/tmp"]


def test_every_denied_call_is_denied(docker: Docker, image: str) -> None:
    machine = os.uname().machine
    numbers = {**MACHINES[machine].numbers, **_OTHER[machine]}
    errors = {
        name: errno.ENOSYS if group["action"] == "SCMP_ACT_TRACE" else group["errnoRet"]
        for group in json.loads(profile())["syscalls"]
        if group["action"] != "SCMP_ACT_ALLOW"
        for name in group["names"]
        if name in numbers
    }
    assert len(errors) > 40
    script = Path(__file__).with_name("denied_calls.py")
    words = [f"{name}={numbers[name]}" for name in errors]
    mount = Mount(str(script), "/tmp/calls.py")
    (line,) = run(docker, image, PYTHON, "-I", "/tmp/calls.py", *words, mounts=[mount])
    answers = json.loads(line)
    assert answers.pop("x32", errno.ENOSYS) == errno.ENOSYS
    # Docker's libseccomp denies only what it has a name for, and this one is of 2025; boxes refuse it themselves.
    for name in ("open_tree_attr",):
        del answers[name], errors[name]
    assert answers == errors


def test_a_box_comes_up_for_an_ordinary_caller(docker: Docker, image: str) -> None:
    trial = try_rung(docker, image, ORDINARY)
    assert trial.works, trial.why_not


def test_a_rung_that_does_not_carry_says_what_to_change(docker: Docker, image: str) -> None:
    """Root without any capability is nobody: the container is to blame, not the machine."""
    trial = try_rung(docker, image, ContainerRung("powerless", "0:0", (), ""))
    assert not trial.works
    assert "root lacks the capabilities" in trial.why_not
    assert "the container allows this already" in trial.cure


def test_more_memory_than_allowed_ends_the_container_with_a_reason(docker: Docker, image: str) -> None:
    hog = (PYTHON, "-c", "x = bytearray(200 << 20); print(len(x))")
    with EngineContainer.start(docker, ContainerSpec(image, hog, ORDINARY, memory_mb=64)) as container:
        assert list(container.lines()) == []
        code = container.wait()
    assert code != 0
    assert "64 MiB" in container.explain_exit(code)


def test_a_folder_that_is_not_there_is_refused_by_name_and_leaves_no_container(
    docker: Docker, image: str
) -> None:
    mine = {"label": f"hintproof.owner.pid={os.getpid()}"}
    before = docker.client.api.containers(all=True, filters=mine)
    spec = ContainerSpec(image, ("true",), ORDINARY, mounts=(Mount("/not/here", "/x"),))
    with pytest.raises(ContainerRefusedError, match="/not/here") as caught:
        EngineContainer.start(docker, spec)
    assert "Docker sees other folders than hintproof" in caught.value.cure
    assert docker.client.api.containers(all=True, filters=mine) == before == []


def test_an_image_that_is_gone_is_missed(docker: Docker) -> None:
    with pytest.raises(ImageMissingError, match="is gone"):
        EngineContainer.start(docker, ContainerSpec("hintproof:not-there", ("true",), ORDINARY))
