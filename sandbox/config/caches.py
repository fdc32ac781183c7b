"""Where hintproof keeps what takes long to make, from one run to the next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str], kind: str) -> Path:
    """The folder of this user for one ``kind`` of things, such as ``images``: below XDG_CACHE_HOME, else below ~/.cache.

    A relative XDG_CACHE_HOME counts as none (XDG Base Directory Specification).
    """
    base = environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else Path(environ.get("HOME") or "/root", ".cache")
    return root / "hintproof" / kind
