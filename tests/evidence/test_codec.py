"""Facts survive the way to JSON and back, and damage is told as an error for people."""

import json

import pytest

from sandbox.errors import EvidenceError
from sandbox.evidence.codec import decode, encode
from sandbox.model import (
    Call,
    Confidence,
    Effect,
    EffectKind,
    Instrument,
    Outcome,
    Purpose,
    Reply,
    Step,
    StepKind,
    Tool,
    ToolEvidence,
    Trial,
    Weight,
)


def evidence() -> ToolEvidence:
    effect = Effect(
        EffectKind.ROW_DELETED,
        "/w/app.db#users[3]",
        "deleted a row",
        at_ms=1.5,
        pid=7,
        weight=Weight.FIRST_USE,
        confidence=Confidence.LIKELY,
        loses=True,
        detail={"row": {"id": 3, "name": None}},
    )
    step = Step(
        StepKind.CALL,
        Call("delete", {"id": [1, {"deep": None}]}, "why"),
        Reply(Outcome.REFUSED, {"isError": True}, "no", 2.0, "is-error"),
        (effect,),
        0.0,
        3,
        unreached=(("box-limit", "sentence"),),
    )
    trial = Trial("box.1", "delete", Purpose.CONFIRM, "box", (step,), frozenset(Instrument), "box.0")
    tool = Tool.read({"name": "delete", "annotations": {"readOnlyHint": "true", "destructiveHint": False}})
    return ToolEvidence(tool, (trial,), 2, 1, ("minimal",), notes=(("crashed", "it ended"),))


def test_evidence_is_equal_after_the_way_to_json_and_back() -> None:
    assert decode(ToolEvidence, json.loads(json.dumps(encode(evidence())))) == evidence()


def test_lone_surrogates_of_a_server_become_visible_escapes_instead_of_an_error() -> None:
    assert json.dumps(encode({"text": "a\ud800b"})).encode("utf-8") == b'{"text": "a\\\\ud800b"}'


@pytest.mark.parametrize(
    "damage",
    [
        {},
        {"tool": 3},
        [],
        None,
        {"no_such_field": 1},
    ],
)
def test_damaged_evidence_is_an_error_that_says_what_to_do(damage: object) -> None:
    with pytest.raises(EvidenceError, match="hintproof verify"):
        decode(ToolEvidence, damage)


def test_an_unknown_enum_value_is_damage() -> None:
    data = encode(evidence())
    data["trials"][0]["purpose"] = "gossip"
    with pytest.raises(EvidenceError):
        decode(ToolEvidence, data)
