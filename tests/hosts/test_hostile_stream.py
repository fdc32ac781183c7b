"""A stream that no engine of ours wrote: nothing but an error of ours comes of it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from standin import LYING, job

from sandbox.errors import EngineFaultError, StreamError, UsageError
from sandbox.events import Event, Progress
from sandbox.evidence.runs import RunFolder
from sandbox.hosts import stream
from sandbox.hosts.job import Task
from sandbox.hosts.stream import hear


def file(name: object, content: bytes = b"{}", *, more: object = False) -> bytes:
    return json.dumps({"file": name, "data": base64.b64encode(content).decode(), "more": more}).encode()


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


STRANGE = {
    "no JSON": b"hello",
    "no object": b"[1]",
    "a number": b"7",
    "not UTF-8": b'{"event": "\xff"}',
    "deep": b"[" * 200_000,
    "unknown kind": b'{"command": "rm"}',
    "unknown event": b'{"event": "Exploded", "data": {}}',
    "an event of another shape": b'{"event": "Progress", "data": {"note": 3}}',
    "an event with more": b'{"event": "Progress", "data": {"note": "x", "extra": 1}}',
    "an event that is a list": b'{"event": "Progress", "data": []}',
    "a report that is none": b'{"answer": {"run": "r"}}',
    "an answer of another task": b'{"answer": {"facts": {}}}',
    "an error of no class": b'{"error": "SystemExit", "message": "0"}',
    "an error that is a module": b'{"error": "IntEnum", "message": "0"}',
    "an error without words": b'{"error": "UsageError", "message": 4}',
    "a file that is a number": file(3),
    "no base64": b'{"file": "report.json", "data": "%%%", "more": false}',
    "more that is a text": file("wire/box-1.jsonl", more="yes"),
}


@pytest.mark.parametrize("line", STRANGE.values(), ids=STRANGE.keys())
def test_what_is_no_message_of_ours_ends_the_run_as_our_own_fault(folder: RunFolder, line: bytes) -> None:
    before = everything(folder.path)
    with pytest.raises(StreamError, match="told what no engine of hintproof tells") as raised:
        hear([line], job(LYING), folder, lambda _: None)
    assert raised.value.exit_code == 70
    assert everything(folder.path) == before


@pytest.mark.parametrize(
    "name",
    [
        "../../escaped",
        "/etc/escaped",
        "tools/../../escaped.json",
        "tools/000-../escaped.json",
        "tools/000-a/b.json",
        "tools",
        "",
        ".lock",
        "run.json",
        "report.json",
        "content/../../x",
        f"content/{'0' * 31}",
        f"content/{'0' * 32}/x",
        f"content/{'0' * 32}\n",
        "wire/.jsonl",
        "wire/box\0.jsonl",
        "wire/bóx.jsonl",
        f"wire/{'a' * 61}.jsonl",
        "C:\\escaped",
        "wire\\box-1.jsonl",
    ],
)
def test_a_file_goes_nowhere_but_where_a_run_has_files(folder: RunFolder, tmp_path: Path, name: str) -> None:
    before = everything(tmp_path)
    with pytest.raises(StreamError, match="is no file of a run folder"):
        hear([file(name)], job(LYING), folder, lambda _: None)
    assert everything(tmp_path) == before
    assert folder.saved_tools == 0


def test_files_have_a_bound_together(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_FILES_CAP", 1000)
    with pytest.raises(StreamError, match="more files than a run can have"):
        hear([file(f"wire/{n}.jsonl", b"x" * 300) for n in range(4)], job(LYING), folder, lambda _: None)
    assert len(list((folder.path / "wire").iterdir())) == 3


def test_a_file_in_pieces_without_an_end_has_the_same_bound(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_FILES_CAP", 1000)
    endless = (file("wire/a.jsonl", b"x" * 300, more=True) for _ in range(1000))
    with pytest.raises(StreamError, match="more files than a run can have"):
        hear(endless, job(LYING), folder, lambda _: None)
    assert not (folder.path / "wire").exists()


def test_pieces_of_two_files_are_not_joined(folder: RunFolder) -> None:
    with pytest.raises(StreamError, match="a file out of place"):
        hear([file("wire/a.jsonl", more=True), file("wire/b.jsonl")], job(LYING), folder, lambda _: None)


def test_a_listing_has_no_files() -> None:
    with pytest.raises(StreamError, match="a file out of place"):
        hear([file("wire/a.jsonl")], job(LYING, task=Task.LIST), None, lambda _: None)


def test_events_before_the_strange_line_were_heard_and_nothing_after_it(folder: RunFolder) -> None:
    heard: list[Event] = []
    progress = b'{"event": "Progress", "data": {"note": "x"}}'
    with pytest.raises(StreamError):
        hear([progress, b"{}", progress], job(LYING), folder, heard.append)
    assert heard == [Progress("x")]


def test_a_stream_that_ends_without_an_answer_has_none(folder: RunFolder) -> None:
    assert hear([], job(LYING), folder, lambda _: None) is None
    assert hear([b'{"event": "Progress", "data": {"note": "x"}}'], job(LYING), folder, lambda _: None) is None


def test_an_error_has_the_words_and_the_exit_code_of_its_class(folder: RunFolder) -> None:
    for kind, code in ((UsageError, 2), (EngineFaultError, 70)):
        line = json.dumps({"error": kind.__name__, "message": "because", "exit_code": 0}).encode()
        with pytest.raises(kind, match="because") as raised:
            hear([line], job(LYING), folder, lambda _: None)
        assert raised.value.exit_code == code
