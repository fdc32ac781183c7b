"""Text that a server controls cannot move the cursor, colour, hide, forge a line or speak to a CI system."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from sandbox.report.escaping import MASK, Masker, plain_json, visible, visible_lines


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_every_c0_and_c1_control_becomes_an_escape(code: int) -> None:
    shown = visible(f"a{chr(code)}b")
    assert re.fullmatch(r"a\\(?:x[0-9a-f]{2}|[tnr])b", shown)


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\u202e", r"\u202e"),
        ("\u2066", r"\u2066"),
        ("\u200b", r"\u200b"),
        ("\u200d", r"\u200d"),
        ("\u2028", r"\u2028"),
        ("\u2029", r"\u2029"),
        ("\ufeff", r"\ufeff"),
        ("\u00ad", r"\xad"),
        ("\u034f", r"\u034f"),
        ("\u3164", r"\u3164"),
        ("\u2800", r"\u2800"),
        ("\ufe0f", r"\ufe0f"),
        ("\ud800", r"\ud800"),
        ("\ue000", r"\ue000"),
        ("\U000e0041", r"\U000e0041"),
        ("\U000e0100", r"\U000e0100"),
    ],
)
def test_what_is_invisible_becomes_an_escape(hidden: str, shown: str) -> None:
    assert visible(f"a{hidden}b") == f"a{shown}b"


def test_no_control_format_or_surrogate_character_of_unicode_is_left() -> None:
    everything = "".join(map(chr, [*range(0x30000), *range(0xE0000, 0xE1000)]))
    shown = visible(everything, limit=len(everything))
    left = {unicodedata.category(character) for character in shown}
    assert left.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@pytest.mark.parametrize(
    "text", ["plain", "naïve café", "日本語", "привет", "[bold]markup[/]", "👍", "e\u0301", ":smile:"]
)
def test_readable_text_of_any_script_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_a_pile_of_combining_marks_is_cut_down() -> None:
    shown = visible("a" + "\u0301" * 40)
    assert shown.count("\u0301") == 3


@pytest.mark.parametrize(
    "command",
    [
        "::error::x",
        "::set-output name=a::x",
        "::stop-commands::t",
        "x ::add-mask::y",
        "##[error]x",
        "##vso[task.complete]x",
    ],
)
def test_a_workflow_command_is_none_any_more(command: str) -> None:
    shown = visible(command)
    assert not re.search(r"::[a-z]|##\[|##vso\[", shown)


@pytest.mark.parametrize("text", ["2001:db8::1", "[2606:2800::a1]:443", "::1", "a: b", "## heading"])
def test_addresses_and_headings_are_no_workflow_commands(text: str) -> None:
    assert visible(text) == text


def test_long_text_is_cut_and_what_is_missing_counted() -> None:
    assert visible("x" * 1000, limit=10) == "xxxxxxxxxx… (990 more characters)"


def test_only_a_newline_ends_a_line() -> None:
    assert visible_lines("a\rb\u2028c\nd", most=5) == [r"a\rb\u2028c", "d"]


def test_lines_beyond_the_bound_are_counted() -> None:
    assert visible_lines("a\nb\nc", most=2) == ["a", "b", "… 1 more lines"]


@pytest.mark.parametrize(
    "text", ['key is s3cr"t/é', json.dumps({"k": 's3cr"t/é'}), "https://x/?k=s3cr%22t%2F%C3%A9"]
)
def test_a_secret_is_masked_however_it_is_written(text: str) -> None:
    masked = Masker(['s3cr"t/é'])(text)
    assert MASK in masked
    assert "s3cr" not in masked


def test_of_two_secrets_the_longer_is_masked_whole() -> None:
    assert Masker(["abcd", "abcdefgh"])("abcdefgh abcd") == f"{MASK} {MASK}"


def test_values_too_short_to_hide_are_left() -> None:
    assert Masker(["1", "yes", ""])("1 yes") == "1 yes"


def test_json_values_become_readable_by_every_parser() -> None:
    value = {"a\ud800": ["\x7f", float("inf"), 1.5, True, None, ("secret-value",)]}
    assert plain_json(value, Masker(["secret-value"])) == {
        r"a\ud800": [r"\x7f", "inf", 1.5, True, None, [MASK]]
    }
