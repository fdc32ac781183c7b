"""Reading scenario files strictly: an unknown key or a wrong value is an error with file, line and column.

The files are YAML 1.2 read by ruamel.yaml in its round-trip mode, which keeps the position of every key and
builds no Python objects.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from sandbox.config.values import nearest
from sandbox.errors import ConfigError, UsageError
from sandbox.model import Call, Hint, Json, Verdict
from sandbox.suites.scenario import FORMAT_VERSION, SUFFIX, Expectation, Scenario

_MOST_BYTES = 1 << 20
_DEEPEST = 64

_KEYS = ("hintproof", "target", "workspace", "env", "calls", "expect")
_EXPECTATION_KEYS = ("verdict", "reason")


def find_scenarios(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The scenario files that the paths name: files as they are, folders searched, sorted, each once.

    Raises UsageError for a path that does not exist and when there is no scenario at all.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(path.rglob(f"*{SUFFIX}"))
        elif path.is_file():
            found.append(path)
        else:
            raise UsageError(f"{path}: there is no such scenario file or folder.")
    if not found:
        raise UsageError(f"No scenario found: their file names end in {SUFFIX}.")
    return tuple(dict.fromkeys(path.absolute() for path in found))


def load_scenario(path: Path) -> Scenario:
    """Read and check one scenario file. Raises ConfigError with ``FILE:LINE:COLUMN`` and the nearest valid name."""
    file = path.absolute()
    top = _Node(file, _document(file), None, "scenario").mapping(_KEYS)
    version = top.get("hintproof")
    if version is None:
        raise ConfigError(
            f"{file}:1:1: the first key must be `hintproof: {FORMAT_VERSION}`, the format version."
        )
    if version.value != FORMAT_VERSION or isinstance(version.value, bool):
        raise version.wrong(
            f"format version {version.value!r} is not known here; this hintproof reads {FORMAT_VERSION}."
        )
    if "target" not in top:
        raise ConfigError(f"{file}:1:1: there is no `target`, the command that starts the server.")
    workspace = top["workspace"].folder() if "workspace" in top else None
    env = {name: node.text(empty=True) for name, node in top["env"].mapping().items()} if "env" in top else {}
    calls = top["calls"].mapping().items() if "calls" in top else ()
    expect = top["expect"].mapping().items() if "expect" in top else ()
    return Scenario(
        file=file,
        target=top["target"].command(),
        workspace=workspace,
        env=env,
        calls=tuple(call for tool, node in calls for call in _calls(tool, node)),
        expect=tuple(each for tool, node in expect for each in _expectations(tool, node)),
    )


@dataclass(frozen=True, slots=True)
class _Node:
    """One value of the document, with the position (line and column from 0) of what names it."""

    file: Path
    value: object
    at: tuple[int, int] | None
    name: str

    def wrong(self, why: str) -> ConfigError:
        line, column = self.at or (0, 0)
        return ConfigError(f"{self.file}:{line + 1}:{column + 1}: {self.name}: {why}")

    @property
    def line(self) -> int:
        return self.at[0] + 1 if self.at else 1

    def mapping(self, valid: Sequence[str] = ()) -> dict[str, _Node]:
        """The members of a mapping by key; with ``valid``, no other keys."""
        if not isinstance(self.value, CommentedMap):
            raise self.wrong("is not a mapping of keys to values.")
        members: dict[str, _Node] = {}
        for key, value in self.value.items():
            member = _Node(self.file, value, self.value.lc.key(key), str(key))
            if not isinstance(key, str):
                raise member.wrong("a key must be a text; put it into quotes.")
            if valid and key not in valid:
                raise member.wrong(f"there is no such key here.{nearest(key, valid)}")
            members[key] = member
        return members

    def items(self) -> Iterator[_Node]:
        """The members of a list."""
        if not isinstance(self.value, CommentedSeq):
            raise self.wrong("is not a list.")
        for index, value in enumerate(self.value):
            yield _Node(self.file, value, self.value.lc.item(index), f"{self.name}[{index}]")

    def text(self, *, empty: bool = False) -> str:
        """A text; numbers and booleans must be in quotes, so that ``on`` and ``1.10`` stay what they are."""
        if not isinstance(self.value, str) or not (self.value.strip() or empty):
            raise self.wrong(f"{self.value!r} is not a text; put it into quotes.")
        return str(self.value)

    def command(self) -> tuple[str, ...]:
        """A command: a list of words, or one line that is split as a shell splits it."""
        if isinstance(self.value, CommentedSeq):
            words = tuple(item.text(empty=True) for item in self.items())
        else:
            try:
                words = tuple(shlex.split(self.text()))
            except ValueError as error:
                raise self.wrong(f"{error}.") from error
        if not words or not words[0]:
            raise self.wrong("names no command.")
        return words

    def folder(self) -> Path:
        """A folder that exists, relative to the scenario's own."""
        path = self.file.parent / self.text()
        if not path.is_dir():
            raise self.wrong(f"there is no folder {path}.")
        return path

    def json(self, depth: int = 0) -> Json:
        """Plain JSON without the reader's own types. YAML's dates and the like have no JSON form."""
        if depth > _DEEPEST:
            raise self.wrong("is nested too deeply.")
        if isinstance(self.value, CommentedMap):
            return {key: node.json(depth + 1) for key, node in self.mapping().items()}
        if isinstance(self.value, CommentedSeq):
            return [node.json(depth + 1) for node in self.items()]
        if self.value is None or isinstance(self.value, bool):
            return self.value
        for kind in (int, float, str):
            if isinstance(self.value, kind):
                return kind(self.value)
        raise self.wrong(f"{self.value} has no form in JSON; put it into quotes.")

    def choice(self, valid: Iterable[str]) -> str:
        """One word of a closed list."""
        names = [str(name) for name in valid]
        if self.value not in names:
            raise self.wrong(
                f"{self.value!r} is not one of {', '.join(names)}.{nearest(str(self.value), names)}"
            )
        return str(self.value)


def _document(file: Path) -> object:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ConfigError(f"{file}: larger than {_MOST_BYTES} bytes; is it a scenario?")
        return YAML(typ="rt").load(file.read_text("utf-8"))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise ConfigError(
            f"{file}{at}: {(error.problem or error.context or 'not YAML').splitlines()[0]}"
        ) from error
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise ConfigError(f"{file}: {error}") from error


def _calls(tool: str, node: _Node) -> Iterator[Call]:
    for example in node.items():
        arguments = example.json()
        if not isinstance(arguments, dict):
            raise example.wrong("is not a mapping of argument names to values.")
        yield Call(tool, arguments, f"example of {node.file.name}:{example.line}")


def _expectations(tool: str, node: _Node) -> Iterator[Expectation]:
    for name, expected in node.mapping(tuple(Hint)).items():
        reason = ""
        verdict = expected
        if isinstance(expected.value, Mapping):
            members = expected.mapping(_EXPECTATION_KEYS)
            if "verdict" not in members:
                raise expected.wrong("names no verdict.")
            verdict = members["verdict"]
            reason = members["reason"].text() if "reason" in members else ""
        yield Expectation(tool, Hint(name), Verdict(verdict.choice(Verdict)), reason, expected.line)
