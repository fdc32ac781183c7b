"""One tool in its surroundings, and one field of it: what an aim is taken with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sandbox.arguments.intent import Intent, about_folders, about_images, intent_of, nouns_of
from sandbox.arguments.learned import Learned
from sandbox.arguments.words import singulars, words_of
from sandbox.model import Json, Tool
from sandbox.workspace import Repo, Surroundings

_REPOSITORY = re.compile(r"\bgit\b|\brepositor(y|ies)\b|\brepo\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Aim:
    """A value to send and why it was chosen.

    ``tag`` tells it from the other aims of its field ("" for the usual one); ``exists`` says that it names a
    place around the server, which is better than what the schema gives by default.
    """

    value: Json
    why: str
    tag: str = ""
    exists: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One field to be filled: its name, its description, the name of what it lies in, and the fields beside
    it.

    ``node`` is its schema, flat. An ``item`` of an array has its array's name in the singular.
    """

    name: str
    description: str
    parent: str
    siblings: tuple[str, ...]
    node: Mapping[str, Json]
    item: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The singular words of the name."""
        return singulars(words_of(self.name))

    @property
    def head(self) -> str:
        """The last word, which says what the field is (``source_timezone`` is a time zone)."""
        words = self.words
        if (
            len(words) > 1
            and words[-1] in {"name", "names"}
            and words[-2] in {"file", "directory", "folder", "path"}
        ):
            return words[-2]
        return words[-1] if words else ""

    def has(self, *words: str) -> bool:
        """Whether one of the words is in the name."""
        return not set(words).isdisjoint(self.words)

    def says(self, expression: str) -> bool:
        """Whether the description matches an expression, in any case."""
        return re.search(expression, self.description, re.IGNORECASE) is not None

    def beside(self, *words: str) -> bool:
        """Whether a sibling's name has one of the words."""
        return any(not set(words).isdisjoint(singulars(words_of(name))) for name in self.siblings)


@dataclass(frozen=True)
class Scene:
    """A tool, what is around it, what was learned, and which set of values is asked for (``turn`` 0 or 1)."""

    tool: Tool
    surroundings: Surroundings
    learned: Learned
    seed: int
    turn: int = 0
    intended: Intent | None = None

    @cached_property
    def intent(self) -> Intent:
        """What the tool does, or what the chosen action makes it do."""
        return self.intended or intent_of(self.tool.name, self.tool.description)

    @cached_property
    def nouns(self) -> frozenset[str]:
        """The things in the tool's name."""
        return nouns_of(self.tool.name)

    @cached_property
    def on_folders(self) -> bool:
        """Whether the tool works on folders."""
        return about_folders(self.tool.name, self.tool.description)

    @cached_property
    def on_images(self) -> bool:
        """Whether the tool works on pictures."""
        return about_images(self.tool.name, self.tool.description)

    @cached_property
    def repository(self) -> Repo | None:
        """The repository that the tool would work on; None where the tool has nothing to do with git."""
        names = " ".join(words_of(self.tool.name)) + " " + self.tool.description[:200]
        properties = self.tool.input_schema.get("properties")
        fields = " ".join(properties) if isinstance(properties, dict) and len(properties) < 200 else ""
        if not _REPOSITORY.search(names) and not re.search(r"repo", fields, re.IGNORECASE):
            return None
        known = self.surroundings.repositories
        return known[0] if known else None

    def fresh(self, field: Field, suffix: str = "", joint: str = "-") -> str:
        """A name that nothing has yet, the same for the same seed, tool, field and turn."""
        text = f"{self.seed} {self.tool.name} {field.name} {self.turn}"
        return f"sample{joint}{hashlib.blake2b(text.encode(errors='replace'), digest_size=3).hexdigest()}{suffix}"

    def with_(self, *, turn: int | None = None, intended: Intent | None = None) -> Scene:
        """The same scene with another set of values, or another action."""
        return replace(self, turn=self.turn if turn is None else turn, intended=intended or self.intended)
