"""Several listeners hear what the engine tells."""

from __future__ import annotations

from sandbox.events import Event, Progress, fan_out


def test_every_listener_hears_every_event_in_order() -> None:
    heard: list[tuple[str, Event]] = []

    def first(event: Event, /) -> None:
        heard.append(("first", event))

    def second(event: Event, /) -> None:
        heard.append(("second", event))

    tell = fan_out(first, second)
    one, two = Progress("one"), Progress("two")
    tell(one)
    tell(two)
    assert heard == [("first", one), ("second", one), ("first", two), ("second", two)]


def test_without_listeners_nothing_happens() -> None:
    fan_out()(Progress("nobody hears this"))
