"""Contact behind openWorldHint false is contradicted, however it is made; loopback is no contact."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from verifying import Run, Twins

from sandbox.model import EffectKind, Hint, Severity

OPEN_WORLD, READ_ONLY = Hint.OPEN_WORLD, Hint.READ_ONLY


@pytest.fixture(scope="module")
def network(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("network.py"))


@pytest.fixture(scope="module")
def racing(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("racing.py"))


@pytest.fixture(scope="module")
def thief(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("thief.py"))


@pytest.mark.parametrize(
    ("tool", "kinds"),
    [
        ("lookup", {EffectKind.NET_LOOKUP}),
        ("tcp_connect", {EffectKind.NET_CONNECT}),
        ("udp_datagram", {EffectKind.NET_DATAGRAM}),
        ("https_post", {EffectKind.NET_LOOKUP, EffectKind.NET_CONNECT, EffectKind.NET_REQUEST}),
    ],
)
def test_contact_in_a_closed_world_is_contradicted(network: Twins, tool: str, kinds: set[EffectKind]) -> None:
    assert network.lying.verdict(tool, OPEN_WORLD) == ("contradicted", "fixed-host")
    assert network.lying.deciding(tool, OPEN_WORLD) == kinds
    assert network.lying.finding(tool, OPEN_WORLD).severity is Severity.MEDIUM


def test_contact_in_an_open_world_is_consistent(network: Twins) -> None:
    assert network.honest.contradicted == set()
    for tool in ("lookup", "tcp_connect", "udp_datagram", "https_post"):
        assert network.honest.verdict(tool, OPEN_WORLD) == ("consistent", "")


def test_a_server_that_talks_to_itself_keeps_its_world_closed(network: Twins) -> None:
    assert network.lying.verdict("loopback", OPEN_WORLD) == ("consistent", "")
    assert network.honest.verdict("loopback", OPEN_WORLD) == ("consistent", "")


def test_an_address_changed_while_the_kernel_is_asked_is_still_contact(racing: Twins) -> None:
    assert racing.lying.verdict("check", OPEN_WORLD) == ("contradicted", "fixed-host")
    assert EffectKind.NET_CONNECT in racing.lying.deciding("check", OPEN_WORLD)
    assert racing.lying.verdict("check", READ_ONLY) == ("consistent", "")


def test_a_connect_that_keeps_its_address_stays_at_home(racing: Twins) -> None:
    assert racing.honest.verdict("check", OPEN_WORLD) == ("consistent", "")
    assert racing.honest.verdict("check", READ_ONLY) == ("consistent", "")


def test_a_secret_that_is_read_and_sent_away_is_grave(thief: Twins) -> None:
    assert thief.lying.verdict("check_setup", OPEN_WORLD) == ("contradicted", "fixed-host")
    assert thief.lying.finding("check_setup", OPEN_WORLD).severity is Severity.HIGH
    assert EffectKind.NET_REQUEST in thief.lying.deciding("check_setup", OPEN_WORLD)
    assert EffectKind.SECRET_READ in thief.lying.listed("check_setup")
    assert thief.lying.verdict("check_setup", READ_ONLY) == ("inconclusive", "remote-unclassified")


def test_a_setup_check_without_a_theft_is_clean(thief: Twins) -> None:
    assert thief.honest.verdict("check_setup", OPEN_WORLD) == ("consistent", "")
    assert thief.honest.verdict("check_setup", READ_ONLY) == ("consistent", "")
    assert thief.honest.listed("check_setup") == set()
