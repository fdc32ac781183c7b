"""Every word of a report can be explained, and an unknown one is answered with the nearest."""

from __future__ import annotations

from enum import StrEnum

import pytest

from sandbox.errors import UsageError
from sandbox.model import Confidence, EffectKind, Hint, Instrument, Severity, Verdict, Weight
from sandbox.policy import PROFILES, REASONS, Reason, codes, explain, profile_named

WORDS: list[StrEnum] = [
    word
    for vocabulary in (Reason, Hint, Verdict, Severity, Confidence, Weight, EffectKind, Instrument)
    for word in vocabulary
]


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_a_report_is_explained(word: StrEnum) -> None:
    page = explain(word.value)
    assert page.startswith(word.value)
    assert len(page.splitlines()) > 2


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_is_explained_with_what_contradicts_each_hint(profile: str) -> None:
    page = explain(profile)
    assert all(hint.value in page for hint in Hint)


def test_no_word_has_two_meanings() -> None:
    words = [word.lower() for listed in codes().values() for word in listed]
    assert len(words) == len(set(words))


def test_every_reason_has_an_entry_with_a_next_step_and_a_verdict() -> None:
    assert set(REASONS) == set(Reason)
    for code, entry in REASONS.items():
        assert entry.code is code
        assert entry.verdicts
        assert all((entry.title, entry.meaning, entry.given, entry.next_step))


def test_a_reason_is_explained_with_its_next_step() -> None:
    assert "--closed-world HOST" in explain("fixed-host")


def test_case_does_not_matter() -> None:
    assert explain("READONLYHINT") == explain("readOnlyHint")


def test_an_unknown_word_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="observed-once"):
        explain("observed-onse")


def test_a_word_that_is_near_to_nothing_is_answered_with_the_sorts_there_are() -> None:
    with pytest.raises(UsageError, match="reason, hint, verdict"):
        explain("zzzzzzzz")


def test_a_profile_is_found_by_its_name() -> None:
    assert profile_named("spec").name == "spec"


def test_an_unknown_profile_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean spec"):
        profile_named("spek")
