"""The JSON report is valid against its published schema and says what the issue demands."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from samplereports import controlled, in_order, lying, run

from sandbox.model import Confidence, EffectKind, Hint, Instrument, Report, Severity, Verdict, Weight
from sandbox.policy import Reason
from sandbox.report.document import FORMAT, dumps, report_schema, to_json, write_report

HOSTILE = "\x1b[2J\u202e\ud800\x7f\x9b"
REPORTS = {
    "ordinary": run(lying(), in_order("get_user")),
    "empty": run(),
    "never spoken to": replace(run(), server=None, complete=False),
    "hostile": controlled(HOSTILE),
}


def closed(schema: Any) -> Any:
    """The schema with every object closed: a field that is not published is an error."""
    if isinstance(schema, dict):
        inner = {key: closed(value) for key, value in schema.items()}
        if "properties" in inner:
            inner.setdefault("additionalProperties", False)
        return inner
    return [closed(item) for item in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS.keys())
def test_a_report_is_valid_and_holds_no_unpublished_field(report: Report) -> None:
    jsonschema.validate(json.loads(dumps(report)), closed(copy.deepcopy(report_schema())))


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(report_schema())


def test_the_schema_rejects_a_report_without_a_verdict() -> None:
    document = to_json(run(lying()))
    del document["tools"][0]["findings"][0]["verdict"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, report_schema())


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (Reason, ("finding", "reason")),
        (Verdict, ("finding", "verdict")),
        (Hint, ("finding", "hint")),
        (Severity, ("finding", "severity")),
        (Confidence, ("finding", "confidence")),
        (EffectKind, ("effect", "kind")),
        (Weight, ("effect", "weight")),
    ],
)
def test_the_schema_lists_exactly_the_words_of_the_code(name: Any, path: tuple[str, str]) -> None:
    listed = report_schema()["$defs"][path[0]]["properties"][path[1]]["enum"]
    assert [word for word in listed if word is not None] == [word.value for word in name]


def test_the_schema_lists_exactly_the_instruments() -> None:
    assert report_schema()["$defs"]["instrument"]["enum"] == [instrument.value for instrument in Instrument]


def test_a_contradiction_has_everything_that_a_reader_needs() -> None:
    document = to_json(run(lying(), in_order("get_user")))
    assert document["schema"] == FORMAT
    tool = document["tools"][0]
    assert tool["calls"] == {"tried": 6, "accepted": 6}
    found = tool["findings"][0]
    assert found["tool"] == "delete_user"
    assert found["hint"] == "readOnlyHint"
    assert found["declared"] is True
    assert found["verdict"] == "contradicted"
    assert found["reason"] is None
    assert found["evidence"][0]["call"]["arguments"] == {"user_id": 2}
    assert found["replay"] == "hintproof replay 3f2a9c01de"
    assert document["summary"]["verdicts"]["contradicted"] == 1


def test_an_absent_hint_is_null() -> None:
    found = to_json(run(in_order("get_user")))["tools"][0]["findings"][3]
    assert found["declared"] is None
    assert found["supports"] is False


def test_the_text_is_pure_printable_ascii_and_every_parser_reads_it() -> None:
    text = dumps(controlled(HOSTILE))
    assert set(text) <= {chr(code) for code in range(0x20, 0x7F)} | {"\n"}
    json.loads(text).__str__().encode("utf-8")


def test_secrets_are_masked_in_every_field() -> None:
    text = dumps(controlled("my-api-key-123"), ["my-api-key-123"])
    assert "my-api-key-123" not in text
    assert "[redacted]" in text


def test_a_report_is_written_whole_and_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_report(path, run())
    write_report(path, run(lying()))
    assert json.loads(path.read_text())["tools"][0]["name"] == "delete_user"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]
