"""Values without fields of their own: what the schema gives, then what fits the scene, then what merely fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.arguments.aims import boolean_aim, is_wait, number_aims, string_aims
from sandbox.arguments.flat import Flat, UnsatisfiableError
from sandbox.arguments.intent import Intent
from sandbox.arguments.patterns import readable, sample
from sandbox.arguments.plan import Path, Spot
from sandbox.arguments.scene import Aim, Field, Scene
from sandbox.arguments.schema import Schema, canonical, sendable
from sandbox.model import Json

_MAX_PADDED = 100_000
_MAX_LISTED = 64


class Leaves:
    """The aims at each leaf of one tool's schema, remembered: they are the same in every set of values of a turn."""

    def __init__(self, schema: Schema, scene: Scene) -> None:
        self._schema = schema
        self._scene = scene
        self._known: dict[tuple[Path, int, Intent | None, tuple[str, ...], int], list[Aim]] = {}

    def aims(self, flat: Flat, spot: Spot) -> list[Aim]:
        """Every aim at a leaf that its schema accepts, best first.

        Raises UnsatisfiableError when there is none.
        """
        plan = spot.plan
        key = (spot.path, plan.turn, plan.intended, flat.types, id(flat.node.get("enum")))
        if key not in self._known:
            scene = self._scene.with_(turn=plan.turn, intended=plan.intended)
            self._known[key] = self._fitting(flat, spot.about, scene)
        if not self._known[key]:
            pattern = str(flat.node.get("pattern", ""))[:60]
            raise UnsatisfiableError(
                f"no value was found that matches {pattern}" if pattern else "no value was found that fits"
            )
        return self._known[key]

    def _fitting(self, flat: Flat, about: Field, scene: Scene) -> list[Aim]:
        given = schema_aims(flat, about)
        node, kind = dict(flat.node), flat.types[0]
        if "enum" in node or "const" in node:
            return self._accepted(given, node)
        if kind == "null":
            return [Aim(None, "null")]
        if kind == "boolean":
            default = node.get("default")
            return (
                [Aim(default, "the schema's default")] if isinstance(default, bool) else [boolean_aim(about)]
            )
        if kind in {"integer", "number"}:
            own = [replace(aim, value=_clamped(aim.value, node, kind)) for aim in number_aims(about, scene)]
        elif "boolean" in _listed(node.get("type")):
            own = [Aim("true", "a switch spelled out"), Aim("false", "a switch spelled out", "false")]
        else:
            own = string_aims(about, scene)
        if not readable(str(node.get("pattern", ""))):
            # Nobody can say whether a value of ours would be accepted.
            own = []
        if own and own[0].exists:
            return self._accepted([*own, *(replace(aim, tag="as given") for aim in given)], node)
        if given and own and not own[0].tag and canonical(own[0].value) != canonical(given[0].value):
            own = [replace(own[0], tag="another value"), *own[1:]]
        found = self._accepted([*given, *own], node)
        return found or (self._made_up(node, own, scene) if kind == "string" else [])

    def _accepted(self, aims: list[Aim], node: dict[str, Any]) -> list[Aim]:
        return [aim for aim in aims if sendable(aim.value) and self._schema.accepts(aim.value, node)]

    def _made_up(self, node: dict[str, Any], own: list[Aim], scene: Scene) -> list[Aim]:
        """Text cut, padded or written to fit where nothing that makes sense does."""
        least, most = node.get("minLength", 0), node.get("maxLength", _MAX_PADDED)
        if pattern := node.get("pattern"):
            text, why = sample(pattern, least, min(most, 256), scene.turn), "written to match the pattern"
        elif least <= _MAX_PADDED:
            base = str(own[0].value) if own else "sample"
            text = (base * (least // max(len(base), 1) + 1))[: max(least, min(len(base), most))]
            why = "of the length asked for"
        else:
            return []
        return [Aim(text, why)] if text is not None and self._schema.accepts(text, node) else []


def _listed(types: object) -> list[object]:
    return types if isinstance(types, list) else [types]


def schema_aims(flat: Flat, about: Field) -> list[Aim]:
    """What the schema itself gives, in this order: a constant, a default, examples, listed values.

    A default that says nothing (empty, null) is none, and neither is one that would only make the call wait.
    """
    node = flat.node
    if "const" in node:
        return [Aim(node["const"], "the only value allowed")]
    found: list[Aim] = []
    default = node.get("default")
    if default not in (None, "", [], {}) and not (is_wait(about) and type(default) in {int, float}):
        found.append(Aim(default, "the schema's default"))
    examples = node.get("examples", [])
    listed = [
        *(examples[:4] if isinstance(examples, list) else []),
        *([node["example"]] if "example" in node else []),
    ]
    found += [Aim(value, "the schema's example") for value in listed]
    found += [Aim(value, "a listed value") for value in node.get("enum", ())[:_MAX_LISTED]]
    return [aim for aim in found if sendable(aim.value)]


def _clamped(value: Json, node: Mapping[str, Any], kind: str) -> Json:
    """The number next to ``value`` that lies in the schema's bounds and on its steps."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    step = node.get("multipleOf") or (1 if kind == "integer" else 0)
    least, most = node.get("minimum"), node.get("maximum")
    above, below = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    gap = step or (min(0.5, (below - above) / 2) if above is not None and below is not None else 0.5)
    if above is not None:
        least = above + gap if least is None else max(least, above + gap)
    if below is not None:
        most = below - gap if most is None else min(most, below - gap)
    number: float = value
    number = number if least is None else max(number, least)
    number = number if most is None else min(number, most)
    if step:
        up = -(-number // step) * step
        number = up if most is None or up <= most else number // step * step
    return int(number) if float(number).is_integer() else number
