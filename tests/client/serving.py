"""Servers of this folder as real processes on pipes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Served:
    """A running server: its process, and the descriptors that a conversation is held over."""

    process: subprocess.Popen[bytes]
    stdout: int
    stdin: int


@contextmanager
def serve(script: str, *words: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, str(HERE / script), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    # The conversation closes the descriptor that it is given.
    stdin = os.dup(process.stdin.fileno())
    process.stdin.close()
    try:
        yield Served(process, process.stdout.fileno(), stdin)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
