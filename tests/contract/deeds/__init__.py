"""What the tools of the contract's server do, a module for each group."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from base import Server

WORKSPACE = Path(sys.argv[1])
HOME = Path.home()

Deed = Callable[[], object]


class Deeds(Server):
    """A server whose tools take no arguments. What a deed returns is the reply, as JSON."""

    def reads(self, deed: Deed) -> Deed:
        """Register a deed that changes nothing and contacts nobody."""
        return self._add(deed, readOnlyHint=True, openWorldHint=False)

    def adds(self, deed: Deed) -> Deed:
        """Register a deed that adds something, and adds nothing the second time."""
        return self._add(
            deed, readOnlyHint=False, destructiveHint=False, idempotentHint=True, openWorldHint=False
        )

    def piles(self, deed: Deed) -> Deed:
        """Register a deed that adds something each time."""
        return self._add(
            deed, readOnlyHint=False, destructiveHint=False, idempotentHint=False, openWorldHint=False
        )

    def loses(self, deed: Deed) -> Deed:
        """Register a deed that loses something, the same however often it is done."""
        return self._add(
            deed, readOnlyHint=False, destructiveHint=True, idempotentHint=True, openWorldHint=False
        )

    def calls_out(self, deed: Deed) -> Deed:
        """Register a deed that changes nothing here and contacts somebody."""
        return self._add(deed, readOnlyHint=True, openWorldHint=True)

    def lies(self, **hints: bool) -> Callable[[Deed], Deed]:
        """Register a deed under hints that are not true."""
        return lambda deed: self._add(deed, **hints)

    def _add(self, deed: Deed, **hints: bool) -> Deed:
        def told() -> str:
            return json.dumps(deed())

        told.__name__, told.__doc__ = deed.__name__, deed.__doc__
        self.tool(**hints)(told)
        return deed
