"""Propose calls of one tool: a sweep over its input space, most telling first, every one valid under its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from sandbox.arguments.build import Builder, slots
from sandbox.arguments.described import objects_in
from sandbox.arguments.flat import UnsatisfiableError
from sandbox.arguments.intent import intent_of_value
from sandbox.arguments.learned import Learned
from sandbox.arguments.leaves import schema_aims
from sandbox.arguments.plan import ITEMS, Plan, Slot, Spot, dotted
from sandbox.arguments.repair import repaired
from sandbox.arguments.scene import Aim, Scene
from sandbox.arguments.schema import Schema, canonical, sendable
from sandbox.arguments.words import one_line, words_of
from sandbox.model import Json, Proposal, Tool
from sandbox.workspace import Surroundings

_MAX_SLOTS = 250
_MAX_WORK = 60_000
_FIRST_VALUES = 6
_WITH_ALL = " with all"
_ACTIONS = frozenset({"action", "mode", "operation", "op", "command", "method", "verb", "task"})


@dataclass(frozen=True, slots=True)
class _Idea:
    label: str
    plan: Plan
    given: Mapping[str, Json] | None = None


def propose(
    tool: Tool, surroundings: Surroundings, learned: Learned, *, seed: int, limit: int
) -> list[Proposal]:
    """At most ``limit`` sets of arguments for a tool, the most telling first, the same for the same inputs.

    Every set is valid under the schema in its own dialect, checked by a validator. Nothing is fetched, and
    the work is bounded however the schema is made; a schema that no value was found for gives no proposals.
    """
    schema = Schema(tool.input_schema)
    builder = Builder(schema, Scene(tool, surroundings, learned, seed))
    found: dict[str, Proposal] = {}
    for idea in _ideas(tool, schema, builder):
        # Work is counted, not timed, so that the result does not depend on the machine.
        if builder.built > _MAX_WORK:
            break
        made = _made(builder, idea)
        if made is None:
            continue
        key = canonical(dict(made.arguments))
        if key in found:
            found[key] = _joined(found[key], idea.label)
        elif len(found) < limit:
            found[key] = made
        else:
            break
    return list(found.values())[:limit]


def _made(builder: Builder, idea: _Idea) -> Proposal | None:
    if idea.given is not None:
        fits = sendable(dict(idea.given)) and builder.schema.accepts(dict(idea.given))
        return Proposal(idea.given, idea.label, "an example that the tool gives") if fits else None
    try:
        arguments = repaired(builder, builder.arguments(idea.plan), idea.plan)
    except UnsatisfiableError:
        return None
    if arguments is None or not sendable(arguments) or not _holds(arguments, idea.plan):
        return None
    return Proposal(arguments, idea.label, _origin(builder))


def _holds(arguments: Mapping[str, Json], plan: Plan) -> bool:
    """Whether what the plan is about is still there after repair."""
    for path in (*plan.include, *plan.values):
        node: Json = dict(arguments)
        for part in path:
            if isinstance(node, list) and part == ITEMS and node:
                node = node[0]
            elif isinstance(node, dict) and part in node:
                node = node[part]
            else:
                return False
        if path in plan.values and canonical(node) != canonical(plan.values[path]):
            return False
    return True


def _joined(proposal: Proposal, label: str) -> Proposal:
    # Only listed values are worth telling: that "full" equals "minimal" is no part of the input space.
    if "=" not in label or label.endswith(_WITH_ALL):
        return proposal
    return Proposal(proposal.arguments, f"{proposal.label}, {label}", proposal.origin)


def _origin(builder: Builder) -> str:
    reasons = [f"{dotted(path)}: {why}" for path, why in builder.origins.items() if path]
    return one_line("; ".join([*reasons, *builder.schema.notes]), 600)


def _ideas(tool: Tool, schema: Schema, builder: Builder) -> Iterator[_Idea]:
    """What to try, in the order of its worth. Only the first ideas are sure to be tried: budgets are small.

    An optional field that says where to work (a repository, a project's folder) goes with everything but the
    minimal call: many tools accept nothing without it.
    """
    known = list(islice(slots(schema), _MAX_SLOTS))
    where = [
        slot for slot in known if not slot.required and len(slot.path) == 1 and builder.says_where(slot.about)
    ]
    yield _Idea("minimal", Plan())
    yield from (_Idea(f"with {slot.name}", Plan(include=frozenset({slot.path}))) for slot in where)
    base = frozenset(slot.path for slot in where)
    for idea in _variations(tool, schema, builder, known):
        yield replace(idea, plan=replace(idea.plan, include=idea.plan.include | base))


def _variations(tool: Tool, schema: Schema, builder: Builder, known: list[Slot]) -> Iterator[_Idea]:
    needed = [slot for slot in known if slot.required]
    optional = [slot for slot in known if not slot.required]
    yield from _examples(tool, schema)
    yield from _alternatives(builder, needed, usual=True)
    yield _Idea("full", Plan(full=True))
    yield from _values(known, slice(0, _FIRST_VALUES))
    yield from _switches(known)
    yield from (_Idea(f"with {slot.name}", Plan(include=frozenset({slot.path}))) for slot in optional)
    yield from _alternatives(builder, optional, usual=True)
    yield from (
        _Idea(f"{slot.name}=null", Plan(values={slot.path: None})) for slot in known if slot.flat.nullable
    )
    yield from _branches(known)
    yield from _actions(known)
    yield _Idea("second values", Plan(turn=1))
    yield _Idea("second values, full", Plan(full=True, turn=1))
    yield from _alternatives(builder, known, usual=False)
    yield from _values(known, slice(_FIRST_VALUES, None))


def _examples(tool: Tool, schema: Schema) -> Iterator[_Idea]:
    listed = schema.root.get("examples")
    names = set(schema.root.get("properties", {}))
    given = [*(listed[:4] if isinstance(listed, list) else []), *objects_in(tool.description)]
    fitting = [one for one in given if isinstance(one, dict) and one and set(one) <= names]
    for number, example in enumerate(fitting, 1):
        yield _Idea(f"example {number}", Plan(), example)


def _alternatives(builder: Builder, known: list[Slot], *, usual: bool) -> Iterator[_Idea]:
    """Other aims of a field than its first: the usual ones (an existing file, another statement), or all the others."""
    for slot in known:
        kinds = {"const", "enum"} & slot.flat.node.keys()
        if kinds or slot.flat.types[0] not in {"string", "integer", "number", ""}:
            continue
        plan = Plan()
        try:
            aims = builder.leaves.aims(slot.flat, Spot(slot.path, slot.about, plan))
        except UnsatisfiableError:
            continue
        for index, aim in enumerate(aims[1:], 1):
            if aim.tag and (aim.tag != "another value") is usual:
                yield _Idea(_alternative(slot, aim), Plan(picks={slot.path: index}))


def _alternative(slot: Slot, aim: Aim) -> str:
    return f"{slot.name}={aim.tag}" if aim.tag == aim.value else f"{slot.name}: {aim.tag}"


def _values(known: list[Slot], part: slice) -> Iterator[_Idea]:
    for slot in known:
        for value in slot.flat.node.get("enum", ())[part]:
            yield _Idea(f"{slot.name}={_spelled(value)}", _valued(slot, value, known))


def _valued(slot: Slot, value: Json, known: list[Slot]) -> Plan:
    """A listed value, with the fields beside it whose descriptions mention it ("required for create")."""
    acts = bool(_ACTIONS & set(words_of(slot.path[-1])))
    word = rf"\b{re.escape(value)}\b" if acts and isinstance(value, str) else r"(?!)"
    beside = [
        other.path
        for other in known
        if other.path[:-1] == slot.path[:-1]
        and other != slot
        and other.about.says(word)
        and not other.required
    ]
    return Plan(
        values={slot.path: value},
        include=frozenset(beside),
        intended=intent_of_value(value) if acts else None,
    )


def _switches(known: list[Slot]) -> Iterator[_Idea]:
    for slot in known:
        if slot.flat.types == ("boolean",) and not {"const", "enum"} & slot.flat.node.keys():
            first = schema_aims(slot.flat, slot.about)
            default = bool(first and first[0].value)
            for value in (not default, default):
                yield _Idea(f"{slot.name}={_spelled(value)}", Plan(values={slot.path: value}))


def _branches(known: list[Slot]) -> Iterator[_Idea]:
    for slot in known:
        for index in range(1, min(slot.flat.options, 8)):
            yield _Idea(f"{slot.name}: variant {index + 1}", Plan(branches={slot.path: index}))


def _actions(known: list[Slot]) -> Iterator[_Idea]:
    """Each action with every optional field: what an action needs is often said in words only."""
    if all(slot.required for slot in known):
        return
    for slot in known:
        values = slot.flat.node.get("enum", ())
        if len(values) > 1 and len(slot.path) == 1:
            for value in values[:_FIRST_VALUES]:
                intended = intent_of_value(value)
                yield _Idea(
                    f"{slot.name}={_spelled(value)}{_WITH_ALL}",
                    Plan(full=True, values={slot.path: value}, intended=intended),
                )


def _spelled(value: Json) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value), 60)
