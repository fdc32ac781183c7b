"""The pages for people say what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.model import Hint, Verdict
from sandbox.policy import REASONS, Reason

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("code", list(Reason))
def test_the_page_of_reasons_has_every_code_in_the_words_of_the_policy(code: Reason) -> None:
    page = (DOCS / "reasons.md").read_text()
    _, _, after = page.partition(f"\n## {code.value}\n")
    section = after.partition("\n## ")[0]
    entry = REASONS[code]
    for words in (entry.title, entry.meaning, entry.given, entry.next_step):
        assert words in section


def test_the_page_of_reasons_has_no_code_that_does_not_exist() -> None:
    page = (DOCS / "reasons.md").read_text()
    headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert headings == [code.value for code in Reason]


@pytest.mark.parametrize("word", [*Verdict, *Hint])
def test_the_page_of_verdicts_names_every_verdict_and_hint(word: str) -> None:
    assert f"| `{word}` |" in (DOCS / "verdicts.md").read_text()
