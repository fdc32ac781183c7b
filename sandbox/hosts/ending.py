"""A process of ours in a container that ended without the answer it was started for."""

from __future__ import annotations

from typing import Protocol

_WORDS = 4000


class Process(Protocol):
    """A process that can be waited for."""

    def wait(self) -> int:
        """Its exit code, once it has ended."""

    def stderr_tail(self) -> str:
        """The end of its standard error, complete when it has ended."""

    def explain_exit(self, code: int) -> str:
        """What such an end means."""


def account_of_end(process: Process) -> str:
    """How it ended, and what it said last: for people. Waits for the end."""
    words = [process.explain_exit(process.wait()), process.stderr_tail().strip()[-_WORDS:]]
    return "\n".join(filter(None, words))
