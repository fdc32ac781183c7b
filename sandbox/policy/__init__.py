"""What the words mean: reason codes, profiles, the fail-on ladder, and an explanation of each."""

from sandbox.policy.classes import (
    CLASSES,
    DONE,
    BatchFacts,
    ServerClass,
    TargetResult,
    code_of,
    contradictions,
    counted,
    of_error,
    of_report,
)
from sandbox.policy.exits import coverage, exit_code, fails, worst
from sandbox.policy.explain import codes, explain
from sandbox.policy.profiles import PROFILES, SPEC, Profile, profile_named
from sandbox.policy.reasons import REASONS, Reason, ReasonEntry

__all__ = [
    "CLASSES",
    "DONE",
    "PROFILES",
    "REASONS",
    "SPEC",
    "BatchFacts",
    "Profile",
    "Reason",
    "ReasonEntry",
    "ServerClass",
    "TargetResult",
    "code_of",
    "codes",
    "contradictions",
    "counted",
    "coverage",
    "exit_code",
    "explain",
    "fails",
    "of_error",
    "of_report",
    "profile_named",
    "worst",
]
