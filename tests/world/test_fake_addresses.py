from __future__ import annotations

from ipaddress import ip_address

import pytest

from sandbox.world.names import NameBook

MANY = [f"host-{number}.example.org" for number in range(5000)]

SPECIAL = ("is_private", "is_reserved", "is_multicast", "is_loopback", "is_link_local", "is_unspecified")


def test_every_fake_address_is_global_unicast() -> None:
    book = NameBook()

    for name in MANY:
        for fake in book.fakes(name) or ():
            assert fake.is_global
            assert not [kind for kind in SPECIAL if getattr(fake, kind)]
            assert fake.packed[-1] not in {0, 255}


def test_a_name_has_the_same_address_in_every_box() -> None:
    first, second = NameBook(), NameBook()
    for name in reversed(MANY):
        second.fakes(name)

    assert [first.fakes(name) for name in MANY[:100]] == [second.fakes(name) for name in MANY[:100]]


def test_no_two_names_of_a_box_share_an_address() -> None:
    book = NameBook()

    fakes = [fake for name in MANY for fake in book.fakes(name) or ()]

    assert len(set(fakes)) == 2 * len(MANY)


def test_a_name_whose_address_is_taken_gets_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = ip_address("22.0.0.1"), ip_address("263f::1")
    monkeypatch.setattr(
        "sandbox.world.names._digest", lambda name, attempt: 7 if attempt == 0 else hash(name) & 0xFFFFFFFF
    )
    book = NameBook()

    first, second = book.fakes("one"), book.fakes("two")

    assert first is not None
    assert second is not None
    assert not set(first) & set(second)
    assert book.name_of(str(first[0])) == "one"
    assert book.name_of(str(second[1])) == "two"
    assert first[1] == taken[1]


@pytest.mark.parametrize("spelling", ["Example.ORG", "example.org.", "EXAMPLE.org."])
def test_spellings_of_one_name_share_its_address(spelling: str) -> None:
    book = NameBook()

    assert book.fakes(spelling) == book.fakes("example.org")


def test_an_address_leads_back_to_its_name() -> None:
    book = NameBook()
    fakes = book.fakes("api.example.org")

    assert fakes is not None
    assert [book.name_of(str(fake)) for fake in fakes] == ["api.example.org"] * 2
    assert book.name_of("8.8.8.8") == ""


def test_a_full_book_keeps_what_it_knows_and_refuses_more() -> None:
    book = NameBook(most=1)
    known = book.fakes("first.example.org")

    assert book.fakes("second.example.org") is None
    assert book.fakes("first.example.org") == known
