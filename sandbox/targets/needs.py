"""What a server asks for that nobody gave: filled with made-up values, or asked for in one message."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sandbox.errors import UsageError
from sandbox.targets.made_up import is_secret, make_up
from sandbox.targets.orders import Given, Need, Order

_MOST_TEXT, _MOST_LINE, _MOST_NEEDS = 64 << 10, 600, 20

_NAME = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
_VARIABLE = re.compile(rf"(?<![A-Za-z0-9_]){_NAME}(?![A-Za-z0-9_])")
_NO_VARIABLE = re.compile(
    r"ERR_|E[A-Z]+\Z|MODULE_|NODE_|PYTHON|NPM_|SIG[A-Z]+\Z|HTTP_|INVALID_|INTERNAL_|UNABLE_|CERT_|SELF_SIGNED|LD_"
)
"""Names of errors and of the runtimes' own variables."""

_DEMAND = re.compile(
    r"required|missing|must be (?:set|provided|defined|specified|given)|must set|must provide"
    r"|not (?:been )?(?:set|provided|found|defined|configured|specified|present)|is (?:undefined|unset|empty|needed)"
    r"|please (?:set|provide|specify|configure|define)|needs? to be|environment var|env var|keyerror|invalid_type",
    re.IGNORECASE,
)

_SHORT_NAMES = (
    re.compile(r"(?i:environment variables?) [`'\"$]{0,2}([A-Z][A-Z0-9]{2,})\b"),
    re.compile(r"\b([A-Z][A-Z0-9]{2,})[`'\"]? (?i:environment variable)"),
    re.compile(r"\bKeyError: ['\"]([A-Z][A-Z0-9_]{2,})['\"]"),
    re.compile(r"process\.env\.([A-Z][A-Z0-9_]{2,})\b"),
)
"""Where a name without an underscore is a variable all the same."""

_REQUIRED_ARGUMENTS = re.compile(
    r"the following (?:required )?arguments (?:are required|were not provided): *(.*)"
)
_ARGUMENT = (
    re.compile(r"missing option ['\"]?(--?[\w-]+)", re.IGNORECASE),
    re.compile(r"required option ['\"]?(?:-\w, )?(--?[\w-]+)", re.IGNORECASE),
    re.compile(r"required flag\(?s?\)? ['\"]?([\w-]+)['\"]? not set", re.IGNORECASE),
    re.compile(r"missing (?:required )?argument:? ['\"]?([\w.-]+)", re.IGNORECASE),
)
_USAGE = re.compile(r"usage: *\S+(.*)", re.IGNORECASE)
_PYDANTIC_FIELD = re.compile(r"[a-z][a-z0-9_]{1,60}")


class Filler:
    """Fills the needs of one server, and keeps what is to be told about it.

    Values come from what the user gave, then from defaults; then they are made up, unless ``invent`` is off
    (for a server that is no box's: nothing made up is sent to strangers). ``missing`` are the needs that got
    none, ``secrets`` the values that no output may show.
    """

    def __init__(self, given: Given, *, invent: bool = True) -> None:
        self.missing: list[Need] = []
        self.secrets: list[str] = []
        self._given = given
        self._invent = invent
        self._made: dict[str, None] = {}

    def given(self, need: Need) -> tuple[str, ...]:
        """What the user gave for it, () for nothing. Raises UsageError for a value that is not among its choices."""
        names = (need.name, need.name.lstrip("-"))
        values = next((self._given.values[name] for name in names if name in self._given.values), ())
        if need.kind == "env" and need.name in self._given.env:
            values = (self._given.env[need.name],)
        for value in values:
            if need.choices and value not in need.choices:
                raise UsageError(f"{_option(need)}: it is one of {', '.join(need.choices[:20])}.")
        if need.secret:
            self.secrets += values
        return values

    def values(self, need: Need) -> tuple[str, ...]:
        """The values of something that is required; () notes it as missing."""
        values = self.given(need)
        if values:
            return values
        if need.default:
            return (need.default,)
        value = make_up(need) if self._invent else None
        if value is None:
            if need not in self.missing:
                self.missing.append(need)
            return ()
        self._made[need.name] = None
        return (value,)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence about what was made up."""
        return made_up_notes(self._made)


def made_up_notes(names: Iterable[str]) -> tuple[str, ...]:
    """What the report says of made-up values, () for none."""
    told = list(names)
    if not told:
        return ()
    return (
        f"Made up, because nobody gave it: {', '.join(told)}. What depends on a real value was not seen.",
    )


def missing_from(order: Order) -> str:
    """What to say of all that a server needs and only the user can give, with the options for it; "" for nothing."""
    if not order.needs:
        return ""
    needs = list(dict.fromkeys(order.needs))
    width = max(len(_option(need)) for need in needs)
    lines = [f"  {_option(need):{width}}  {_about(need)}" for need in needs if _about(need)]
    options = " ".join(map(_option, needs))
    return "\n".join([f"{order.name} needs what only you can give. Give it with: {options}", *lines])


def from_refusal(text: str) -> tuple[Need, ...]:
    """What a server that ended at its start asks for, by what it said: variables, then arguments, each once.

    ``text`` is the end of its standard error. Nothing is certain here: a name counts where the line says that it
    is required, missing or not set.
    """
    lines = [line[:_MOST_LINE] for line in text[-_MOST_TEXT:].splitlines()]
    found: dict[tuple[str, str], Need] = {}
    for need in (*_variables(lines), *_pydantic_fields(lines), *(_arguments(lines) or _usage(lines))):
        found.setdefault((need.kind, need.name), need)
    return tuple(found.values())[:_MOST_NEEDS]


def filled(needs: Iterable[Need]) -> tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]:
    """Made-up variables, words to put behind the arguments, and the names of both, for needs of a refusal."""
    variables: dict[str, str] = {}
    words: list[str] = []
    names: list[str] = []
    for need in needs:
        value = make_up(need)
        if value is None:
            continue
        names.append(need.name)
        if need.kind == "env":
            variables[need.name] = value
        else:
            words += [need.name, value] if need.name.startswith("-") else [value]
    return variables, tuple(words), tuple(names)


def asked_for(needs: Sequence[Need]) -> str:
    """What to say to a user whose server ended for want of these: the options to give. "" for none."""
    variables = [f"-e {need.name}=..." for need in needs if need.kind == "env"]
    arguments = [
        f"{need.name} ..." if need.name.startswith("-") else f"{need.name.upper()}"
        for need in needs
        if need.kind != "env"
    ]
    options = [*variables, *(["-- " + " ".join(arguments)] if arguments else [])]
    return f"It seems to ask for values. Give them with: {' '.join(options)}" if options else ""


def _option(need: Need) -> str:
    return f"-e {need.name}=..." if need.kind == "env" else f"--set {need.name.lstrip('-')}=..."


def _about(need: Need) -> str:
    choices = f" (one of: {', '.join(need.choices[:20])})" if need.choices else ""
    return f"{need.why[:200]}{choices}"


def _env(name: str, why: str) -> Need:
    return Need("env", name, why.strip()[:200], secret=is_secret(name))


def _variables(lines: Sequence[str]) -> Iterator[Need]:
    listing = False
    for line in lines:
        demanded = _DEMAND.search(line) is not None
        names = [name for name in _VARIABLE.findall(line) if not _NO_VARIABLE.match(name)]
        if demanded or (listing and names):
            yield from (_env(name, line) for name in names)
        for pattern in _SHORT_NAMES:
            yield from (_env(name, line) for name in pattern.findall(line) if not _NO_VARIABLE.match(name))
        # "Missing environment variables:" and one on each of the next lines.
        begins = demanded and line.rstrip().endswith((":", "["))
        listing = begins or (listing and bool(names))


def _pydantic_fields(lines: Sequence[str]) -> Iterator[Need]:
    """pydantic-settings names the fields of its class; the variable has the same name in upper case."""
    for line, below in pairwise(lines):
        if "Field required [type=missing" in below and _PYDANTIC_FIELD.fullmatch(line.strip()):
            yield _env(line.strip().upper(), "Field required")


def _arguments(lines: Sequence[str]) -> list[Need]:
    found: list[Need] = []
    for at, line in enumerate(lines):
        required = _REQUIRED_ARGUMENTS.search(line)
        if required:
            names = re.findall(r"(?<![\w-])(--?[A-Za-z][\w-]*|[A-Za-z][\w.-]*)", required[1])
            if not required[1].strip():  # clap writes one on each line
                names = re.findall(r"--?[A-Za-z][\w-]*", " ".join(lines[at + 1 : at + 9])) or []
            found += [_argument(name, line) for name in names if name != "or"]
        for pattern in _ARGUMENT:
            match = pattern.search(line)
            if match:
                name = f"--{match[1]}" if "flag" in pattern.pattern and match[1][0] != "-" else match[1]
                found.append(_argument(name, line))
    return found


def _usage(lines: Sequence[str]) -> list[Need]:
    """The words of a usage line that stand outside of brackets: ``server <folder> --token <token> [options]``."""
    found: list[Need] = []
    for line in lines:
        match = _USAGE.search(line)
        if match is None:
            continue
        flag = ""
        for word in re.sub(r"\[[^\]]*\]?", " ", match[1]).split():
            if re.fullmatch(r"--?[A-Za-z][\w-]*", word):
                flag = word
            elif re.fullmatch(r"<[^<>]+>(\.\.\.)?", word):
                found.append(_argument(flag or word.strip("<>."), line))
                flag = ""
        break
    return found


def _argument(name: str, why: str) -> Need:
    return Need("argument", name, why.strip()[:200], secret=is_secret(name))


def with_needs(order: Order, filler: Filler) -> Order:
    """The order with what its filler has to tell."""
    return dataclasses.replace(
        order,
        needs=(*order.needs, *filler.missing),
        secrets=(*order.secrets, *filler.secrets),
        notes=(*order.notes, *filler.notes),
    )
