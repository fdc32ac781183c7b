"""The process that reads what a hostile server wrote: no network, no files, bounded memory and time per job.

Run as ``python -I -m sandbox.effects.reader_worker FD``; jobs and their content come through the socket FD
only.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sandbox.effects.readers.documents import read_json, read_json_lines
from sandbox.effects.readers.emptiness import holds_nothing
from sandbox.effects.readers.git import read_git
from sandbox.effects.readers.reading import Reading, UnreadableError, to_wire
from sandbox.effects.readers.sqlite import read_sqlite
from sandbox.effects.readers.text import read_text
from sandbox.effects.readers.wire import WireError, receive, send
from sandbox.linux import syscalls

MEMORY = 1 << 30
"""Address space of the worker in bytes: several times what the largest kept content needs."""

CPU_S = 8
"""Processor seconds per job, in case the engine's own timeout does not come."""

_NOBODY = 65534

_LINK = 3
"""The descriptor of the link; the limit on open files leaves no other beside the standard ones."""


def confine(keep: int) -> None:
    """Give up everything but the descriptor ``keep``, which becomes number 3. What the kernel does not grant
    is left out, the limits never."""
    _ask(syscalls.prctl, syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if keep != _LINK:
        os.dup2(keep, _LINK)
    os.closerange(_LINK + 1, 4096)
    os.chdir("/")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        # A change of user clears it (prctl(2)).
        _ask(syscalls.prctl, syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    # A network namespace without any interface; where user namespaces are refused the worker still opens
    # nothing.
    _ask(syscalls.unshare, syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC)
    _ask(syscalls.prctl, syscalls.PR_SET_NO_NEW_PRIVS, 1)
    _ask(syscalls.prctl, syscalls.PR_SET_DUMPABLE, 0)
    for limit, value in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, _LINK + 1),
    ):
        resource.setrlimit(limit, (value, value))


def _ask(call: Callable[..., None], *arguments: int) -> None:
    with contextlib.suppress(OSError):  # not granted here
        call(*arguments)


def read_file(name: str, before: bytes, after: bytes) -> Reading:
    """Compare two contents of one file as the most telling format that both are of."""
    text = read_text(before, after)
    if text.reader != "text":
        return text
    for reader, looks in ((read_json_lines, _looks_like_lines), (read_json, _looks_like_document)):
        if not looks(name, before, after):
            continue
        try:
            found = reader(before, after)
        except UnreadableError as error:
            text = replace(text, trouble=str(error))
            continue
        return replace(
            found, diff=text.diff, appended=text.appended, volatile=text.volatile, pattern=text.pattern
        )
    return text


def _looks_like_document(_name: str, before: bytes, after: bytes) -> bool:
    return all(content.lstrip()[:1] in (b"{", b"[") for content in (before, after))


def _looks_like_lines(name: str, before: bytes, after: bytes) -> bool:
    if name.endswith((".jsonl", ".ndjson")):
        return True
    longer = max(before, after, key=len).strip()
    first, _, rest = longer.partition(b"\n")
    return first[:1] == b"{" and first.rstrip().endswith(b"}") and rest.lstrip()[:1] == b"{"


def _serve(link: socket.socket) -> None:
    while True:
        try:
            job, blobs = receive(link)
        except WireError:
            return  # the engine is done, or gone
        spent = int(time.process_time()) + 1
        with contextlib.suppress(ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (spent + CPU_S, resource.RLIM_INFINITY))
        try:
            reading = _JOBS[job["job"]](job, blobs, link)
        except UnreadableError as error:
            reading = Reading("bytes", trouble=str(error))
        except (MemoryError, RecursionError) as error:
            reading = Reading("bytes", trouble=f"too large to read ({type(error).__name__})")
        send(link, {"reading": to_wire(reading)})


def _file_job(job: dict[str, Any], blobs: list[bytes], _link: socket.socket) -> Reading:
    return read_file(job["name"], blobs[0], blobs[1])


def _sqlite_job(_job: dict[str, Any], blobs: list[bytes], _link: socket.socket) -> Reading:
    return read_sqlite((blobs[0], blobs[1]), (blobs[2], blobs[3]))


def _new_job(job: dict[str, Any], blobs: list[bytes], _link: socket.socket) -> Reading:
    return replace(read_file(job["name"], b"", blobs[0]), empty=holds_nothing(blobs[0], blobs[1]))


def _git_job(job: dict[str, Any], blobs: list[bytes], link: socket.socket) -> Reading:
    split = len(job["before"])
    before = dict(zip(job["before"], blobs[:split], strict=True))
    after = dict(zip(job["after"], blobs[split:], strict=True))

    def fetch(name: str) -> bytes | None:
        send(link, {"want": name})
        answer, content = receive(link)
        return content[0] if answer.get("have") else None

    return read_git(before, after, fetch, job["packs"], job["ids"])


_JOBS: dict[str, Callable[[dict[str, Any], list[bytes], socket.socket], Reading]] = {
    "file": _file_job,
    "new": _new_job,
    "sqlite": _sqlite_job,
    "git": _git_job,
}


def main() -> None:
    """Serve jobs until the engine hangs up."""
    # Codecs are imported on first use, which opens files: before that is no longer possible.
    codecs.lookup("utf-8-sig")
    confine(int(sys.argv[1]))
    with socket.socket(fileno=_LINK) as link:
        _serve(link)


if __name__ == "__main__":
    main()
