"""Masks of what differs by nature, and which overwritten values count as lost."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.effects.provenance import Provenance
from sandbox.effects.readers.values import follows_addition, overwrites
from sandbox.effects.volatile import mask, mask_subject


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("at 2026-11-30T12:14:45.123Z", "at <time>"),
        ("at 2026-11-30 12:14:45+01:00", "at <time>"),
        ("Mon, 30 Nov 2026 12:14:45 GMT", "<time> GMT"),
        ("[12:14:45]", "[<time>]"),
        ("ts=1764505485", "ts=<time>"),
        ("ts=1764505485123", "ts=<time>"),
        ("id 0b0f60ba-1c2d-4e5f-8a9b-0c1d2e3f4a5b", "id <uuid>"),
        ("key deadbeefdeadbeef01", "key <hex>"),
        ("http://127.0.0.1:54321/x", "http://127.0.0.1:<port>/x"),
        ("due 2026-11-30", "due 2026-11-30"),
        ("limit 5000", "limit 5000"),
        ("phone 5551234567", "phone 5551234567"),
        ("colour facade", "colour facade"),
        ("https://example.org:8443/", "https://example.org:8443/"),
    ],
)
def test_times_and_ids_are_masked_and_values_are_not(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize(
    ("subject", "masked"),
    [
        ("/tmp/tmpab12cd_x/out", "/tmp/<temporary>/out"),
        ("/tmp/work-aB3dE9/out", "/tmp/work-<random>/out"),
        ("/run/server.4242.sock", "/run/server.<pid>.sock"),
        ("/home/user/report-final.txt", "/home/user/report-final.txt"),
        ("/home/user/a.txt", "/home/user/a.txt"),
    ],
)
def test_temporary_names_and_pids_are_masked_in_subjects(subject: str, masked: str) -> None:
    assert mask_subject(subject, [4242]) == masked


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("a", "b", True),
        ("a", "ab", False),
        (None, "b", False),
        ("", "b", False),
        (0, 1, True),
        (["x"], [], True),
    ],
)
def test_a_value_is_lost_unless_it_was_nothing_or_goes_on(old: Any, new: Any, lost: bool) -> None:
    assert overwrites(old, new) is lost


@pytest.mark.parametrize(
    ("name", "old", "new", "follows"),
    [
        ("next_id", 3, 9, True),
        ("itemCount", 3, 5, True),
        ("updatedAt", "2026-01-01", "2026-02-02", True),
        ("head", "abc", "def", True),
        ("seq", 5, 3, False),
        ("balance", 10, 50, False),
        ("last_name", "a", "b", False),
        ("done", False, True, False),
    ],
)
def test_counters_pointers_and_times_follow_an_addition(name: str, old: Any, new: Any, follows: bool) -> None:
    assert follows_addition(name, old, new) is follows


def test_what_was_not_seeded_the_server_made_itself() -> None:
    known = Provenance(["/home/user/.cache/x"])
    assert known.server_made("/home/user/.cache/x")
    assert not known.is_own("/home/user/.cache/x")
