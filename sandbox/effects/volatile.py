"""Masks for what differs from run to run by nature: times, random ids, temporary names, process ids, local
ports.

Two texts that are equal under the mask tell of the same behaviour in two boxes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sandbox.model import digest_of

_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"\d{4}-\d\d-\d\d[T _]\d\d[:.-]?\d\d(?:[:.-]?\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
        "<time>",
    ),
    (
        re.compile(
            r"(?:[A-Z][a-z]{2},? )?(?:\d{1,2} [A-Z][a-z]{2}|[A-Z][a-z]{2} {1,2}\d{1,2}),? (?:\d{4} )?\d\d:\d\d:\d\d(?: \d{4})?"
        ),
        "<time>",
    ),
    (re.compile(r"(?<![\d:])[0-2]\d:[0-5]\d:[0-5]\d(?:[.,]\d+)?(?![\d:])"), "<time>"),
    (
        re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9A-Za-z])"),
        "<uuid>",
    ),
    # Seconds, milliseconds, microseconds or nanoseconds since the epoch, from 2017 to 2033.
    (re.compile(r"(?<!\d)1[5-9]\d{8}(?:\d{3}){0,3}(?:\.\d+)?(?!\d)"), "<time>"),
    (re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{16,}(?![0-9A-Za-z])"), "<hex>"),
    (re.compile(r"(?<![0-9A-Za-z])\d{16,}(?![0-9A-Za-z])"), "<number>"),
    (re.compile(r"(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d{4,5}(?!\d)"), r"\1:<port>"),
)

_TEMPORARY: tuple[tuple[re.Pattern[str], str], ...] = (
    # Python's tempfile: tmp and eight of [a-z0-9_]; mkstemp(3), mktemp(1) and Node's mkdtemp: six to ten
    # letters and digits.
    (re.compile(r"(?<![A-Za-z0-9])tmp_?[a-z0-9_]{6,8}(?![A-Za-z0-9])"), "<temporary>"),
    (
        re.compile(
            r"(?<=[-._])(?=[A-Za-z0-9]*(?:[A-Z]|\d))(?=[A-Za-z0-9]*[a-z])(?![a-z]+\d{1,3}(?:[./]|$))[A-Za-z0-9]{6,10}(?=[./]|$)"
        ),
        "<random>",
    ),
)


def mask(text: str) -> str:
    """``text`` with its volatile values replaced by their kind in angle brackets."""
    for pattern, kind in _MASKS:
        text = pattern.sub(kind, text)
    return text


def mask_subject(subject: str, pids: Iterable[int] = ()) -> str:
    """A path, URL or command line under :func:`mask`, temporary names and the given process ids masked too."""
    masked = mask(subject)
    for pattern, kind in _TEMPORARY:
        masked = pattern.sub(kind, masked)
    for pid in pids:
        if pid > 1:
            masked = re.sub(rf"(?<!\d){pid}(?!\d)", "<pid>", masked)
    return masked


def fingerprint(*parts: str) -> str:
    """The digest of what happened, from parts that are masked already."""
    return digest_of("\0".join(parts).encode("utf-8", "surrogateescape"))
