"""Servers that know how they are looked at, and try to have a lie pass as consistent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from verifying import QUICK, Run, Twins

from sandbox.model import EffectKind, Hint

READ_ONLY, OPEN_WORLD = Hint.READ_ONLY, Hint.OPEN_WORLD


@pytest.fixture(scope="module")
def hides(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("hides.py", probe=dataclasses.replace(QUICK, call_timeout_ms=1_500)))


@pytest.fixture(scope="module")
def sends(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("sends.py"))


@pytest.fixture(scope="module")
def mimics(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("mimics.py"))


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("by_mapping", EffectKind.FILE_MODIFIED),
        ("by_daemon", EffectKind.FILE_CREATED),
        ("by_unnamed_program", EffectKind.FILE_CREATED),
        ("with_old_times", EffectKind.FILE_MODIFIED),
        ("among_bookkeeping", EffectKind.FILE_CREATED),
        ("and_dies", EffectKind.FILE_CREATED),
        ("and_hangs", EffectKind.FILE_CREATED),
    ],
)
def test_a_write_in_disguise_is_contradicted(hides: Twins, tool: str, kind: EffectKind) -> None:
    assert hides.lying.verdict(tool, READ_ONLY) == ("contradicted", "")
    assert kind in hides.lying.deciding(tool, READ_ONLY)


def test_the_disguises_alone_are_no_writes(hides: Twins) -> None:
    assert hides.honest.contradicted == set()
    for tool in ("by_mapping", "by_daemon", "by_unnamed_program", "with_old_times", "among_bookkeeping"):
        assert hides.honest.verdict(tool, READ_ONLY) == ("consistent", "")


def test_a_cache_of_its_own_is_told_even_where_it_is_tolerated(hides: Twins) -> None:
    assert EffectKind.FILE_CREATED in hides.honest.listed("among_bookkeeping")


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("to_the_neighbours", EffectKind.NET_DATAGRAM),
        ("in_an_own_name", EffectKind.NET_DATAGRAM),
        ("by_the_other_protocol", EffectKind.NET_DATAGRAM),
        ("with_the_first_packet", EffectKind.NET_CONNECT),
        ("behind_a_flood", EffectKind.NET_DATAGRAM),
        ("by_a_detached_child", EffectKind.NET_DATAGRAM),
    ],
)
def test_contact_in_disguise_is_contradicted(sends: Twins, tool: str, kind: EffectKind) -> None:
    assert sends.lying.verdict(tool, OPEN_WORLD)[0] == "contradicted"
    assert kind in sends.lying.deciding(tool, OPEN_WORLD)
    assert sends.honest.verdict(tool, OPEN_WORLD) == ("consistent", "")


@pytest.mark.parametrize("tool", ["to_nowhere_in_particular", "by_an_abstract_socket"])
def test_what_stays_on_this_machine_is_no_contact(sends: Twins, tool: str) -> None:
    assert sends.lying.verdict(tool, OPEN_WORLD) == ("consistent", "")
    assert sends.honest.verdict(tool, OPEN_WORLD) == ("consistent", "")


def test_a_write_among_the_like_of_it_is_never_consistent(mimics: Twins) -> None:
    assert mimics.lying.verdict("look", READ_ONLY) == ("inconclusive", "idle-writes")
    assert mimics.honest.verdict("look", READ_ONLY) == ("consistent", "")
