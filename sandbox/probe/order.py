"""The order in which tools are probed, and which calls make something that others can work on.

Order decides cost and coverage only, never a verdict: a tool in the wrong group is still judged by what it
did.
"""

from __future__ import annotations

import re

from sandbox.model import Declared, Tool

_CREATES = frozenset(
    "create add insert write append put new register upload save set store make mkdir init start open import"
    " remember record log schedule send post publish enqueue push copy clone".split()
)
_READS = frozenset(
    "get list read search find show describe query fetch view status diff log count check tree info echo"
    " lookup inspect explain preview validate convert calculate compare resolve".split()
)
_REMOVES = frozenset(
    "delete remove drop clear reset purge truncate move rename destroy close stop kill revoke uninstall"
    " unset archive prune forget cancel disable".split()
)


def words(name: str) -> list[str]:
    """The lower-case words of a tool's name: ``createUser``, ``create_user`` and ``user.create`` alike."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def looks_like_read(tool: Tool) -> bool:
    """Whether the tool is probed with the shared, clean boxes first."""
    if tool.hints.read_only is Declared.TRUE:
        return True
    if tool.hints.read_only is Declared.FALSE:
        return False
    named = words(tool.name)
    return bool(_READS.intersection(named)) and not (_CREATES | _REMOVES).intersection(named)


def rank(tool: Tool) -> int:
    """0 reads, 1 makers, 2 others, 3 removers: makers come first so that later tools find something."""
    if looks_like_read(tool):
        return 0
    named = words(tool.name)
    if _REMOVES.intersection(named):
        return 3
    return 1 if _CREATES.intersection(named) else 2


def in_probing_order(tools: tuple[Tool, ...]) -> list[Tool]:
    """The tools by rank, in listing order within a rank."""
    return sorted(tools, key=rank)


def makes_something(tool: Tool) -> bool:
    """Whether an accepted call of this tool may give other tools something to work on."""
    return tool.hints.read_only is not Declared.TRUE and rank(tool) in (1, 2)


def removes_something(tool: Tool) -> bool:
    """Whether the tool is named for taking something away."""
    return tool.hints.read_only is not Declared.TRUE and rank(tool) == 3
