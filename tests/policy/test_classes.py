"""The class of each server of several: by its error, by its report, and by its own words."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox import errors
from sandbox.errors import ExitCode, HintproofError
from sandbox.policy import (
    CLASSES,
    BatchFacts,
    ServerClass,
    TargetResult,
    code_of,
    explain,
    of_error,
    of_report,
)


def report(
    *refusals: str, accepted: int = 0, verdict: str = "inconclusive", confidence: str = "certain"
) -> dict[str, Any]:
    """A JSON report with a tool for each refusal; the calls of the first were accepted so many times."""
    return {
        "tools": [
            {
                "name": f"tool{number}",
                "calls": {"tried": 3, "accepted": accepted if number == 0 else 0},
                "refusals": [text] if text else [],
                "findings": [
                    {
                        "tool": f"tool{number}",
                        "hint": "readOnlyHint",
                        "verdict": verdict,
                        "confidence": confidence,
                    }
                ],
            }
            for number, text in enumerate(refusals)
        ]
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Error: GITHUB_TOKEN environment variable is required", ServerClass.NEEDS_CREDENTIALS),
        ("Please set OPENAI_API_KEY", ServerClass.NEEDS_CREDENTIALS),
        ("HTTP 401: Bad credentials", ServerClass.NEEDS_CREDENTIALS),
        ("You are not logged in", ServerClass.NEEDS_CREDENTIALS),
        ("connect ECONNREFUSED 127.0.0.1:6379", ServerClass.NEEDS_SERVICE),
        (
            "redis.exceptions.ConnectionError: Error 111 connecting to 127.0.0.1:6379.",
            ServerClass.NEEDS_SERVICE,
        ),
        ("Could not connect to the database: password required", ServerClass.NEEDS_SERVICE),
        ("Error: Cannot find module './keyboard.js'", ServerClass.DOES_NOT_START),
        ("SyntaxError: Unexpected token '<'", ServerClass.DOES_NOT_START),
        ("usage: server [--port PORT]", ServerClass.DOES_NOT_START),
    ],
)
def test_what_a_server_says_at_its_end_tells_what_it_needs(words: str, expected: ServerClass) -> None:
    error = errors.ServerStartError(
        f"The server hung up before it answered initialize.\n  {words}\n  at line 3"
    )
    server_class, why = of_error(error)
    assert server_class is expected
    assert words in why


@pytest.mark.parametrize(
    ("error", "expected", "code"),
    [
        (errors.InstallError("x cannot be installed.\nNo such version."), "does-not-install", 3),
        (errors.ImageError("damaged"), "does-not-install", 3),
        (errors.NoDockerError("no engine", "start one"), "no-sandbox", 4),
        (errors.NothingVerifiedError("it lists no tools"), "nothing-verified", 5),
        (errors.TargetNotFoundError("no such file"), "not-found", 3),
        (errors.UsageError("--expose /: too wide"), "not-found", 3),
        (errors.BoxLostError("the daemon died"), "our-fault", 70),
        (errors.EngineFaultError("KeyError"), "our-fault", 70),
    ],
)
def test_each_error_has_its_class_and_a_code_of_the_order(
    error: HintproofError, expected: str, code: int
) -> None:
    assert (of_error(error)[0].value, code_of(error)) == (expected, code)


def test_why_an_installation_failed_is_told_and_not_only_that_it_did() -> None:
    assert (
        of_error(errors.InstallError("npm:x cannot be installed.\nNo such version."))[1] == "No such version."
    )
    assert of_error(errors.InstallError("uv is missing."))[1] == "uv is missing."


def test_a_report_is_contradicted_only_by_what_is_at_least_likely() -> None:
    assert of_report(report("", accepted=1, verdict="contradicted")) == (
        ServerClass.CONTRADICTED,
        "readOnlyHint: tool0",
    )
    unsure = report("", accepted=1, verdict="contradicted", confidence="possible")
    assert of_report(unsure)[0] is ServerClass.VERIFIED


def test_one_accepted_call_is_enough_to_count_as_verified() -> None:
    assert of_report(report("401 Unauthorized", "401 Unauthorized", accepted=1))[0] is ServerClass.VERIFIED
    assert of_report(report("401 Unauthorized", "401 Unauthorized"))[0] is ServerClass.NEEDS_CREDENTIALS


def test_most_refusals_decide_what_a_server_needs() -> None:
    refused = "connect ECONNREFUSED 127.0.0.1:27017"
    assert of_report(report(refused, "no such table")) == (ServerClass.NEEDS_SERVICE, refused)
    assert of_report(report(refused, "no such table", "no such row"))[0] is ServerClass.NOTHING_VERIFIED
    assert of_report(report())[0] is ServerClass.NOTHING_VERIFIED


@pytest.mark.parametrize(
    ("codes", "worst"),
    [((0, 5, 3), 3), ((3, 1, 0), 1), ((1, 4), 4), ((4, 70), 70), ((5, 0), 5), ((0, 0), 0)],
)
def test_a_batch_ends_with_the_worst_of_its_codes(codes: tuple[int, ...], worst: int) -> None:
    results = tuple(TargetResult(i, "s", ServerClass.VERIFIED, code) for i, code in enumerate(codes))
    facts = BatchFacts("b", (), "", len(codes), 1, 1.0, results)
    assert (facts.exit_code, facts.complete) == (ExitCode(worst), True)


def test_every_class_is_explained() -> None:
    assert set(CLASSES) == set(ServerClass)
    for each in ServerClass:
        assert explain(each.value).startswith(each.value)
