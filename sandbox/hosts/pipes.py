"""The standard streams of a process in a container: its orders on one, what it tells on the other, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

_LINE_CAP = 64 << 20
_READ = 1 << 16


def take_over() -> tuple[int, int]:
    """Descriptors of the orders and of the answers, which no child inherits.

    Standard input holds nothing from now on, and what is printed goes to standard error.
    """
    orders, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return orders, answers


def first_line(descriptor: int) -> bytes:
    """All up to the first line feed, of which nothing may follow yet. Raises ValueError where there is none."""
    line = bytearray()
    while not line.endswith(b"\n"):
        part = os.read(descriptor, _READ)
        if not part or len(line) > _LINE_CAP:
            raise ValueError("the input holds no order")
        line += part
    return bytes(line)


def frame(piece: bytes) -> bytes:
    """A piece of content as it is sent; an empty one ends the content."""
    return len(piece).to_bytes(4, "big") + piece


def framed(descriptor: int) -> Iterator[bytes]:
    """The pieces of one content. Raises EOFError where the input ends within it."""
    while size := int.from_bytes(_exactly(descriptor, 4), "big"):
        yield _exactly(descriptor, size)


def until_it_ends(descriptor: int, then: Callable[[], None]) -> None:
    """Wait for the end of the input: whoever held its other end is gone."""
    while os.read(descriptor, _READ):
        pass
    then()


def write(descriptor: int, data: bytes) -> None:
    """Write all of it. Raises BrokenPipeError where nobody reads."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _exactly(descriptor: int, size: int) -> bytes:
    read = bytearray()
    while len(read) < size:
        part = os.read(descriptor, min(size - len(read), 1 << 20))
        if not part:
            raise EOFError
        read += part
    return bytes(read)
