"""What the words mean: reason codes, profiles, the fail-on ladder, and an explanation of each."""

from sandbox.policy.exits import coverage, exit_code, fails, worst
from sandbox.policy.explain import codes, explain
from sandbox.policy.profiles import PROFILES, SPEC, Profile, profile_named
from sandbox.policy.reasons import REASONS, Reason, ReasonEntry

__all__ = [
    "PROFILES",
    "REASONS",
    "SPEC",
    "Profile",
    "Reason",
    "ReasonEntry",
    "codes",
    "coverage",
    "exit_code",
    "explain",
    "fails",
    "profile_named",
    "worst",
]
