"""From evidence to verdicts: a pure function, so that a saved trial can be judged again anywhere."""

from sandbox.judge.allowances import allow
from sandbox.judge.assessment import claims
from sandbox.judge.verdicts import judge, propose, report_tool

__all__ = ["allow", "claims", "judge", "propose", "report_tool"]
