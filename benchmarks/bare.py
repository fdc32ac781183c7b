"""The same client over plain pipes to a server that nothing contains or watches.

As a program: ``bare.py PLAN`` makes the calls that a plan names, one server start per box of it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from sandbox.client import ClientSettings, Conversation, converse
from sandbox.model import Call, SeedEntry, Tool

_KEPT = ("PATH", "LANG", "HOME", "TMPDIR")


@asynccontextmanager
async def bare_conversation(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], roots: tuple[str, ...] = ()
) -> AsyncIterator[Conversation]:
    """Start a server as a plain child process and speak to it."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | dict(env)
    server = subprocess.Popen(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        os.set_blocking(server.stdout.fileno(), False)
        stdin = os.dup(server.stdin.fileno())
        os.set_blocking(stdin, False)
        settings = ClientSettings(roots=roots)
        async with converse(server.stdout.fileno(), stdin, settings=settings) as conversation:
            yield conversation
    finally:
        server.kill()
        server.stdin.close()
        server.stdout.close()
        server.wait()


def lay_out(seeds: Sequence[SeedEntry], below: Path) -> None:
    """Put the seeds of a box where they belong on this machine, as far as they lie in ``below``; all else there goes."""
    shutil.rmtree(below)
    below.mkdir()
    for seed in seeds:
        path = Path(seed.path)
        if path != below and not path.is_relative_to(below):
            continue
        if seed.kind == "dir":
            path.mkdir(parents=True, exist_ok=True)
        elif seed.kind == "symlink":
            path.symlink_to(seed.target)
        else:
            path.write_bytes(seed.content)
            path.chmod(seed.mode)


async def repeat(plan: Path) -> None:
    """Make the calls of a plan: a JSON object with ``argv``, ``cwd``, ``env``, ``keep`` and ``boxes``.

    Each of ``boxes`` is the calls of one server's life. ``keep`` is a folder and its pristine copy, put back
    before each start.
    """
    work = json.loads(plan.read_text())
    for calls in work["boxes"]:
        if work["keep"]:
            folder, pristine = work["keep"]
            shutil.rmtree(folder)
            shutil.copytree(pristine, folder, symlinks=True)
        async with bare_conversation(
            work["argv"], work["cwd"], work["env"], tuple(work["roots"])
        ) as conversation:
            tools: dict[str, Tool] = {}
            for name, arguments in calls:
                if name is None or not tools:
                    tools = {tool.name: tool for tool in (await conversation.list_tools()).tools}
                if name is not None:
                    await conversation.call(Call(name, arguments), tools[name], 15_000)


if __name__ == "__main__":
    anyio.run(repeat, Path(sys.argv[1]))
