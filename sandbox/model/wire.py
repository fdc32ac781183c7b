"""What goes over the wire: JSON, what a server says of its tools, calls and replies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""Any JSON value, exactly as it was sent."""


def digest_of(content: bytes) -> str:
    """The digest that content is known by everywhere: hex blake2b of 16 bytes."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class Hint(StrEnum):
    """The four hints of a tool, by their wire names (MCP schema 2026-07-28, ``ToolAnnotations``)."""

    READ_ONLY = "readOnlyHint"
    DESTRUCTIVE = "destructiveHint"
    IDEMPOTENT = "idempotentHint"
    OPEN_WORLD = "openWorldHint"


class Declared(Enum):
    """What was sent for one hint. Absent is not false; anything but a JSON boolean is malformed."""

    TRUE = "true"
    FALSE = "false"
    ABSENT = "absent"
    MALFORMED = "malformed"

    @property
    def wire(self) -> bool | str | None:
        """The value as reports spell it: true, false, null (absent) or ``"malformed"``."""
        return {"true": True, "false": False, "absent": None, "malformed": "malformed"}[self.value]


@dataclass(frozen=True, slots=True)
class Hints:
    """The declared value of each hint."""

    read_only: Declared = Declared.ABSENT
    destructive: Declared = Declared.ABSENT
    idempotent: Declared = Declared.ABSENT
    open_world: Declared = Declared.ABSENT

    def of(self, hint: Hint) -> Declared:
        """The declared value of one hint."""
        return {
            Hint.READ_ONLY: self.read_only,
            Hint.DESTRUCTIVE: self.destructive,
            Hint.IDEMPOTENT: self.idempotent,
            Hint.OPEN_WORLD: self.open_world,
        }[hint]

    @classmethod
    def read(cls, annotations: Json) -> Hints:
        """Read the raw ``annotations`` value of a tool definition; never coerces.

        A missing object, or one that is not an object, declares nothing; a wire ``null`` is malformed.
        """
        raw = annotations if isinstance(annotations, dict) else {}

        def one(hint: Hint) -> Declared:
            if hint.value not in raw:
                return Declared.ABSENT
            value = raw[hint.value]
            if isinstance(value, bool):
                return Declared.TRUE if value else Declared.FALSE
            return Declared.MALFORMED

        return cls(one(Hint.READ_ONLY), one(Hint.DESTRUCTIVE), one(Hint.IDEMPOTENT), one(Hint.OPEN_WORLD))


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as listed: its name, and its definition exactly as it was on the wire."""

    name: str
    definition: Mapping[str, Json]
    hints: Hints

    @classmethod
    def read(cls, definition: Mapping[str, Json]) -> Tool:
        """Read one raw entry of a ``tools/list`` result. The entry must have a string ``name``."""
        return cls(str(definition["name"]), definition, Hints.read(definition.get("annotations")))

    @property
    def description(self) -> str:
        """The tool's description, or an empty string."""
        value = self.definition.get("description")
        return value if isinstance(value, str) else ""

    @property
    def input_schema(self) -> Mapping[str, Json]:
        """The tool's ``inputSchema``; an empty object schema where it is missing or not an object."""
        value = self.definition.get("inputSchema")
        return value if isinstance(value, dict) else {"type": "object"}

    @property
    def needs_task(self) -> bool:
        """Whether the tool can only be called as a task (``execution.taskSupport``, 2025-11-25)."""
        execution = self.definition.get("execution")
        return isinstance(execution, dict) and execution.get("taskSupport") == "required"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about the server worth telling that is not a verdict: junk on stdout, a flood, ...

    ``code`` is a stable slug, ``text`` one line for people (server-controlled parts unescaped: reports
    escape), ``tool`` the tool concerned or None.
    """

    code: str
    text: str
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One tools/call to send: the tool's name, its arguments and why these arguments were chosen."""

    tool: str
    arguments: Mapping[str, Json]
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One set of arguments to send.

    ``label`` names the parts of the input space that it covers (``minimal``, ``full``, ``mode=append``,
    ``flag=true``, ``with limit``, ``limit=null``, ``path: existing file``), joined by commas where it covers
    several. ``origin`` says on one line why each value was chosen.
    """

    arguments: Mapping[str, Json]
    label: str
    origin: str


class Outcome(StrEnum):
    """How a call ended."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    TIMED_OUT = "timed-out"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, judged from raw JSON.

    ``raw`` is the result object, or the JSON-RPC error object of a refused call, or None.
    ``reason`` says how a refusal was told: ``is-error``, ``jsonrpc-error``, ``error-text`` (an error
    text behind ``isError: false``), or empty. ``text`` is the joined text content, at most 4,096
    characters. ``elapsed_ms`` runs from the request's last byte to the reply's.
    """

    outcome: Outcome
    raw: Mapping[str, Json] | None
    text: str
    elapsed_ms: float
    reason: str = ""
