"""Build one set of arguments from a schema and a plan of what to include and which way to choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from sandbox.arguments.flat import Flat, UnsatisfiableError, first_items, flatten, properties_of, rest_items
from sandbox.arguments.leaves import Leaves, schema_aims
from sandbox.arguments.patterns import sample
from sandbox.arguments.places import is_where
from sandbox.arguments.plan import ITEMS, Path, Plan, Slot, Spot
from sandbox.arguments.sanitise import Node
from sandbox.arguments.scene import Field, Scene
from sandbox.arguments.schema import Schema, canonical
from sandbox.arguments.words import singular
from sandbox.model import Json

_DEEP = 6
_TOO_DEEP = 14
_MAX_OPTIONAL = 60
_MAX_ITEMS = 200
_MAX_NODES = 3_000
_MAX_PROPERTIES = 400
_MAX_DESCRIPTION = 4_000
_TOP = Field("", "", "", (), {})


class Builder:
    """Builds arguments for one tool. ``built`` counts the nodes of all sets so far: the measure of work done."""

    def __init__(self, schema: Schema, scene: Scene) -> None:
        self.schema = schema
        self.leaves = Leaves(schema, scene)
        self.origins: dict[Path, str] = {}
        self.built = 0
        self._scene = scene
        self._left = 0

    def arguments(self, plan: Plan) -> dict[str, Json]:
        """Arguments as planned, not yet validated; ``origins`` then says why each value was chosen.

        Raises UnsatisfiableError when a required field has no value.
        """
        self.origins = {}
        self._left = _MAX_NODES
        value = self.value(self.schema.root, Spot((), _TOP, plan))
        return value if isinstance(value, dict) else {}

    def says_where(self, about: Field) -> bool:
        """Whether a field names the place that the tool works in: a repository, a project's folder, a database."""
        return is_where(about, self._scene)

    def value(self, node: Node, spot: Spot) -> Json:
        """The value at one spot.

        Raises UnsatisfiableError when there is none.
        """
        if spot.path in spot.plan.values:
            self.origins[spot.path] = "varied by the sweep"
            return spot.plan.values[spot.path]
        self.built += 1
        self._left -= 1
        flat = flatten(self.schema, node, spot.plan.branches.get(spot.path, 0))
        deep = spot.depth > _DEEP or self._left < 0 or bool(flat.refs & spot.refs)
        if spot.depth > _TOO_DEEP:
            raise UnsatisfiableError("the schema asks for itself without end")
        if deep and flat.nullable:
            return None
        spot = replace(spot, about=_told(spot.about, flat), refs=spot.refs | flat.refs, deep=deep)
        if not {"const", "enum"} & flat.node.keys():
            if flat.types[0] == "object":
                return self._object(flat, spot)
            if flat.types[0] == "array":
                return self._array(flat, spot)
        aims = self.leaves.aims(flat, spot)
        aim = aims[spot.plan.picks.get(spot.path, 0) % len(aims)]
        self.origins[spot.path] = aim.why
        return aim.value

    def _given(self, flat: Flat, spot: Spot, kind: type) -> Json:
        """An object or array that the schema gives as a whole; None where it gives none or the plan varies its inside."""
        given = [aim for aim in schema_aims(flat, spot.about) if isinstance(aim.value, kind)]
        if not given or not spot.depth or any(one[: len(spot.path)] == spot.path for one in spot.plan.values):
            return None
        self.origins[spot.path] = given[0].why
        return given[0].value

    def _object(self, flat: Flat, spot: Spot) -> Json:
        if (given := self._given(flat, spot, dict)) is not None:
            return given
        made: dict[str, Json] = {}
        required = frozenset(flat.node.get("required", ()))
        properties = dict(properties_of(flat))
        siblings = tuple(islice(properties, _MAX_OPTIONAL))
        optional = 0
        for name, node in properties.items():
            inner = spot.within(name, Field(name, "", spot.about.name, siblings, {}))
            if name not in required:
                if not (
                    spot.plan.wants(inner.path)
                    or (spot.plan.full and not spot.deep and optional < _MAX_OPTIONAL)
                ):
                    continue
                optional += 1
            try:
                made[name] = self.value(node, inner)
            except UnsatisfiableError as error:
                if name in required:
                    raise
                self.origins[inner.path] = f"left out: {error}"
        self._fill(made, flat, spot)
        return made

    def _fill(self, made: dict[str, Json], flat: Flat, spot: Spot) -> None:
        """Add fields that the schema leaves free: as many as it asks for, and one where a full map is wanted."""
        least = flat.node.get("minProperties", 0)
        free = flat.node.get("additionalProperties", not flat.node.get("properties"))
        patterns = flat.node.get("patternProperties", {})
        if (
            spot.plan.full
            and spot.depth
            and not spot.deep
            and not made
            and (isinstance(free, dict) or patterns)
        ):
            least = max(least, 1)
        for index in range(min(least - len(made), _MAX_ITEMS)):
            name, node = f"field{index + 1}", free or True
            if patterns:
                pattern, node = next(iter(patterns.items()))
                name = sample(pattern, turn=index) or name
            if name not in made:
                made[name] = self.value(node, spot.within(name, Field(name, "", spot.about.name, (), {})))

    def _array(self, flat: Flat, spot: Spot) -> Json:
        """An array: its prescribed first items, then as few more as make sense, at least one where allowed."""
        if given := self._given(flat, spot, list):
            return given
        first, rest = first_items(flat.node), rest_items(flat.node)
        least = max(
            flat.node.get("minItems", 0), flat.node.get("minContains", 1) if "contains" in flat.node else 0
        )
        count = min(max(least, len(first), 0 if spot.deep else 1), flat.node.get("maxItems", _MAX_ITEMS))
        if rest is False:
            count = min(count, len(first))
        if count > _MAX_ITEMS:
            raise UnsatisfiableError(f"the schema asks for {count} items")
        if "contains" in flat.node and rest is True:
            rest = flat.node["contains"]
        items: list[Json] = []
        about = _item(spot.about)
        for index in range(count):
            inner = spot.within(ITEMS, about, spot.plan.for_item((*spot.path, ITEMS), index))
            try:
                value = self.value(first[index] if index < len(first) else rest, inner)
            except UnsatisfiableError:
                if index < least:
                    raise
                break
            if not flat.node.get("uniqueItems") or canonical(value) not in map(canonical, items):
                items.append(value)
        return items


def slots(schema: Schema) -> Iterator[Slot]:
    """Every field that a sweep can vary, outer ones first. Endless only for endless schemas: take what you need."""
    waiting: list[tuple[Node, Path, Field, bool, frozenset[str]]] = [
        (schema.root, (), _TOP, True, frozenset())
    ]
    while waiting:
        node, path, about, required, refs = waiting.pop(0)
        try:
            flat = flatten(schema, node)
        except UnsatisfiableError:
            continue
        about = _told(about, flat)
        is_item = path[-1:] == (ITEMS,)
        if path and (not is_item or flat.types[0] not in {"object", "array"}):
            yield Slot(path, about, flat, required)
        if len(path) > 5 or flat.refs & refs:
            continue
        refs |= flat.refs
        if flat.types[0] == "object":
            properties = list(islice(properties_of(flat), _MAX_PROPERTIES))
            siblings = tuple(name for name, _ in properties[:_MAX_OPTIONAL])
            needed = frozenset(flat.node.get("required", ()))
            waiting += [
                (
                    inner,
                    (*path, name),
                    Field(name, "", about.name, siblings, {}),
                    required and name in needed,
                    refs,
                )
                for name, inner in properties
            ]
        elif flat.types[0] == "array":
            inner = [*first_items(flat.node), rest_items(flat.node)][0]
            waiting.append((inner, (*path, ITEMS), _item(about), required, refs))


def _item(array: Field) -> Field:
    name = array.name
    one = singular(name) if name.islower() else name.removesuffix("s")
    return replace(array, name=one, node={}, item=True)


def _told(about: Field, flat: Flat) -> Field:
    """A field with what its schema says of it; an item without a description has its array's."""
    description = str(flat.node.get("description") or about.description)[:_MAX_DESCRIPTION]
    return replace(about, description=description, node=flat.node)
