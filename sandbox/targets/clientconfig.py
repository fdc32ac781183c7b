"""Configuration files of MCP clients: Claude Desktop, Claude Code, VS Code, and those that write like them.

Servers stand below ``mcpServers``, ``servers`` or ``mcp.servers``, or are the whole file. Variables follow the
client's own rules:

* ``claude_desktop_config.json`` has none;
* VS Code: ``${input:ID}`` asks, ``${env:NAME}``, ``${workspaceFolder}`` and its like are replaced
  (code.visualstudio.com/docs/copilot/reference/mcp-configuration);
* elsewhere ``${NAME}`` and ``${NAME:-default}`` as well (Claude Code); ``$NAME`` never.

What the shell has under a secret's name is handed to no server for a file's sake; ``-e NAME`` does that.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from sandbox.errors import ConfigError, TargetNotFoundError, UsageError
from sandbox.model import HOME, Json
from sandbox.targets.dockerrun import PREFIX, image_order
from sandbox.targets.documents import Fields, checked, read_file
from sandbox.targets.made_up import is_secret
from sandbox.targets.needs import Filler, with_needs
from sandbox.targets.orders import Given, Need, Order
from sandbox.targets.templates import DOLLAR, fill

_MOST_SERVERS, _MOST_WORDS = 500, 1000

_STDIO, _HTTP, _SSE = "stdio", "http", "sse"
_TYPES = {
    "stdio": _STDIO,
    "local": _STDIO,
    "command": _STDIO,
    "http": _HTTP,
    "streamable-http": _HTTP,
    "streamablehttp": _HTTP,
    "streamable_http": _HTTP,
    "remote": _HTTP,
    "sse": _SSE,
}
"""How a server is spoken to, by every name that clients have for it (lower case)."""

_CONFIG_FOLDERS = frozenset(
    {".vscode", ".cursor", ".claude", ".gemini", ".windsurf", ".roo", ".github", ".amazonq"}
)
"""Folders of a project that only hold settings: the project is the folder above."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CLAUDE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Rules:
    """What variables mean in one file. ``inputs`` are VS Code's, by id."""

    desktop: bool
    claude: bool
    inputs: Mapping[str, Need]
    project: Path
    environ: Mapping[str, str]


def servers_in(value: Json) -> Mapping[str, Json] | None:
    """The servers of a client's configuration by name, None where the value is none."""
    if not isinstance(value, dict):
        return None
    inner = value.get("mcp")
    for found in (
        value.get("mcpServers"),
        value.get("servers"),
        value.get("mcp.servers"),
        inner.get("servers") if isinstance(inner, dict) else None,
        inner.get("mcpServers") if isinstance(inner, dict) else None,
    ):
        if isinstance(found, dict):
            return found
    if value and all(_is_entry(entry) for entry in value.values()):
        return value
    return None


def read_client_config(
    value: Json, path: Path, *, called: str, only: str = "", environ: Mapping[str, str], given: Given
) -> tuple[Order, ...]:
    """Every server of a client's configuration, or the one named ``only``, in the order of the file.

    ``value`` is the file's content, read already, ``called`` the file as the user wrote it; ``environ`` the host's variables. An entry that cannot be used is
    an order with a ``problem``. Raises UsageError where there is no server of that name, ConfigError for a file that
    is no configuration.
    """
    servers = servers_in(value)
    assert isinstance(value, dict)
    if servers is None:
        raise ConfigError(f"{path}: names no servers (mcpServers, servers or mcp.servers).")
    if len(servers) > _MOST_SERVERS:
        raise ConfigError(f"{path}: more than {_MOST_SERVERS} servers. Name one: {path.name}#NAME.")
    if only and only not in servers:
        listed = ", ".join(list(servers)[:20]) or "none"
        raise UsageError(f"{path}#{only}: no server is called that. The file names: {listed}.")
    if not servers:
        raise UsageError(f"{path}: names no servers.")
    rules = _rules(value, path, environ)
    return tuple(
        _order(name, entry, called, rules, given)
        for name, entry in servers.items()
        if not only or name == only
    )


def _is_entry(value: Json) -> bool:
    return isinstance(value, dict) and any(
        isinstance(value.get(key), str) for key in ("command", "url", "serverUrl", "httpUrl")
    )


def _rules(value: Mapping[str, Json], path: Path, environ: Mapping[str, str]) -> _Rules:
    desktop = path.name == "claude_desktop_config.json"
    inner = value.get("mcp")
    holder = inner if isinstance(inner, dict) else value
    folder = path.parent
    return _Rules(
        desktop=desktop,
        claude=not desktop and "mcpServers" in (*value, *holder),
        inputs=_inputs(Fields(dict(holder), str(path))),
        project=folder.parent if folder.name in _CONFIG_FOLDERS else folder,
        environ=environ,
    )


def _inputs(holder: Fields) -> dict[str, Need]:
    needs: dict[str, Need] = {}
    for one in holder.objects("inputs"):
        options = one.value.get("options")
        labels = (
            [item.get("value") if isinstance(item, dict) else item for item in options or []]
            if isinstance(options, list)
            else []
        )
        name = one.text("id")
        needs[name] = Need(
            "input",
            name,
            one.text("description"),
            secret=one.true("password"),
            default=one.text("default"),
            choices=tuple(label for label in labels if isinstance(label, str)),
        )
    return needs


def _order(name: str, entry: Json, called: str, rules: _Rules, given: Given) -> Order:
    word = f"{called}#{name}"
    order = Order(word, (word,), str(rules.project))
    try:
        fields = Fields(entry, word)
        filler = Filler(given, invent=not _is_remote(fields))
        return with_needs(_read(order, fields, rules, _Reader(fields, filler, rules, given)), filler)
    except UsageError as error:
        return dataclasses.replace(order, problem=str(error))


def _is_remote(fields: Fields) -> bool:
    return not fields.value.get("command")


class _Reader:
    """Fills in the variables of one entry."""

    def __init__(self, fields: Fields, filler: Filler, rules: _Rules, given: Given) -> None:
        self.notes: list[str] = []
        self._fields, self._filler, self._rules, self._given = fields, filler, rules, given
        self._withheld: dict[str, None] = {}

    def fill(self, text: str, where: str, *, ask: bool = False) -> str:
        """A text with its variables replaced; ``ask`` makes one that nobody set something that the server needs."""
        if self._rules.desktop:
            return text
        return fill(text, DOLLAR, lambda name: self._look(name, ask), f"{self._fields.where}.{where[:80]}")

    def _look(self, name: str, ask: bool) -> str | None:
        kind, colon, rest = name.partition(":")
        if colon and kind == "input":
            need = self._rules.inputs.get(rest) or Need("input", rest)
            values = self._filler.values(need)
            return values[0] if values else None
        if colon and kind == "env":
            return self._variable(rest, ask, unset="")
        fixed = self._fixed(name)
        if fixed is not None:
            return fixed
        claude = _CLAUDE.fullmatch(name) if self._rules.claude else None
        if claude is None:
            return None
        default = claude["default"]
        return self._variable(claude["name"], ask, unset=None if default is None else default[2:])

    def _fixed(self, name: str) -> str | None:
        project = self._rules.project
        match name:
            case "workspaceFolder" | "workspaceRoot" | "CLAUDE_PROJECT_DIR" | "CLAUDE_PLUGIN_ROOT":
                return str(project)
            case "workspaceFolderBasename":
                return project.name
            case "userHome":
                return self._rules.environ.get("HOME") or HOME
            case "pathSeparator" | "/":
                return os.sep
        return self._fixed(name.partition(":")[0]) if name.startswith("workspaceFolder:") else None

    def _variable(self, name: str, ask: bool, unset: str | None) -> str | None:
        """A variable of ``-e`` or of the shell; ``unset`` is what stands for one that nobody set."""
        if name in self._given.env:
            self._filler.secrets.append(self._given.env[name])
            return self._given.env[name]
        if name in self._rules.environ and not is_secret(name):
            return self._rules.environ[name]
        if name in self._rules.environ:
            self._withheld[name] = None
        elif unset:
            return unset
        if ask and (name in self._withheld or unset is None or is_secret(name)):
            values = self._filler.values(Need("env", name, secret=is_secret(name)))
            if values:
                return values[0]
        if unset is None and name not in self._withheld:
            self.notes.append(f"{name} is not set, so ${{{name}}} stays as it is, as in the client.")
        return unset

    def shell(self, command: tuple[str, ...], env: Mapping[str, str]) -> Mapping[str, str]:
        """The variables from which ``docker run -e NAME`` takes its value."""
        found = {name: value for name, value in self._rules.environ.items() if not is_secret(name)}
        found |= {**self._given.env, **env}
        for option, name in pairwise(command):
            if option in {"-e", "--env"} and _NAME.fullmatch(name) and name not in found:
                values = self._filler.values(Need("env", name, secret=is_secret(name)))
                found |= dict.fromkeys([name], values[0]) if values else {}
        return found

    def told(self) -> tuple[str, ...]:
        """Sentences for the report."""
        withheld = [
            f"{', '.join(self._withheld)} of this shell was not handed to the server: give -e NAME for that."
        ]
        return (*dict.fromkeys(self.notes), *(withheld if self._withheld else ()))


def _read(order: Order, fields: Fields, rules: _Rules, reader: _Reader) -> Order:
    transport = (
        Fields(fields.get("transport"), fields.where) if isinstance(fields.get("transport"), dict) else fields
    )
    kind = _type(fields, transport)
    url = reader.fill(transport.text("url", "serverUrl", "httpUrl", "endpoint"), "url", ask=True)
    cwd = _folder(reader.fill(fields.text("cwd", "workingDirectory"), "cwd"), rules)
    order = dataclasses.replace(order, cwd=cwd)
    command = _command(fields, reader)
    env = _env(fields, reader, rules)
    if fields.true("disabled") or fields.value.get("enabled") is False:
        reader.notes.append("The file has this server switched off.")
    if not command:
        if not url:
            raise ConfigError(f"{fields.where}: has neither a command nor a url.")
        headers = {
            key: reader.fill(text, f"headers.{key}", ask=True)
            for key, text in transport.variables("headers").items()
        }
        if fields.get("headersHelper") is not None:
            reader.notes.append("headersHelper is a program of the file's, and is not run.")
        return dataclasses.replace(
            order, url=_address(url, fields), headers=headers, transport=kind or _HTTP, notes=reader.told()
        )
    port, http_path = 0, ""
    if kind in (_HTTP, _SSE):
        port, http_path = _endpoint(url, command, env)
        if kind == _SSE:
            raise ConfigError(
                f"{fields.where}: speaks sse, which only servers before 2025 do. It cannot be spoken to here."
            )
    image = None
    if Path(command[0]).name in {"docker", "podman"} or command[0].startswith(PREFIX):
        image = image_order(command, cwd=Path(cwd), environ=reader.shell(command, env))
    return dataclasses.replace(
        order,
        command=() if image else command,
        image=image,
        env=env if image is None or image.host_paths else {},
        transport=_HTTP if kind == _HTTP else _STDIO,
        port=port,
        path=http_path,
        notes=reader.told(),
    )


def _type(fields: Fields, transport: Fields) -> str:
    named = (
        fields.get("type") if isinstance(fields.get("type"), str) else transport.get("type", "transportType")
    )
    if named is None and isinstance(fields.get("transport"), str):
        named = fields.get("transport")
    if named is None:
        return ""
    if not isinstance(named, str) or named.lower() not in _TYPES:
        raise ConfigError(f"{fields.where}: {str(named)[:60]!r} is no type of server: stdio, http or sse.")
    return _TYPES[named.lower()]


def _command(fields: Fields, reader: _Reader) -> tuple[str, ...]:
    command = fields.value.get("command")
    if isinstance(command, list):  # some clients write the whole line as one list
        words = fields.texts("command")
    else:
        words = tuple(filter(None, [fields.text("command")]))
    words += fields.texts("args", "arguments") if words else ()
    if len(words) > _MOST_WORDS:
        raise ConfigError(f"{fields.where}: more than {_MOST_WORDS} arguments.")
    return tuple(
        checked(reader.fill(word, f"args[{at - 1}]" if at else "command"), f"{fields.where}.args")
        for at, word in enumerate(words)
    )


def _env(fields: Fields, reader: _Reader, rules: _Rules) -> dict[str, str]:
    found: dict[str, str] = {}
    file = reader.fill(fields.text("envFile"), "envFile")
    if file:
        found |= dict(_env_file(Path(os.path.normpath(rules.project / file))))
    for name, value in fields.variables("env").items():
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{fields.where}.env: {name[:60]!r} is no variable's name.")
        found[name] = checked(reader.fill(value, f"env.{name}", ask=True), f"{fields.where}.env.{name[:80]}")
    return found


def _env_file(path: Path) -> Iterator[tuple[str, str]]:
    """``NAME=VALUE`` lines, with ``export``, quotes and comments as dotenv has them."""
    for line in read_file(path).decode("utf-8-sig", "replace").splitlines():
        match = re.fullmatch(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*", line)
        if match is None:
            continue
        value = match[2]
        if value[:1] in {"'", '"'} and value[:1] in value[1:]:
            value = value[1 : value.index(value[0], 1)]
        else:
            value = re.sub(r"\s+#.*", "", value)
        yield match[1], checked(value, f"{path}: {match[1][:80]}")


def _folder(cwd: str, rules: _Rules) -> str:
    if cwd.startswith("~/"):
        cwd = (rules.environ.get("HOME") or HOME) + cwd[1:]
    folder = Path(os.path.normpath(rules.project / cwd)) if cwd else rules.project
    if cwd and not folder.is_dir():
        raise TargetNotFoundError(f"cwd {cwd[:200]}: there is no such folder.")
    return str(folder)


def _endpoint(url: str, command: tuple[str, ...], env: Mapping[str, str]) -> tuple[int, str]:
    """The port and path that a server started here listens on; 0 and "" where nothing says so."""
    if url:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise ConfigError(f"url {url[:200]}: {error}.") from error
        if host not in _LOOPBACK:
            raise ConfigError(
                f"url {url[:200]}: the command starts the server here, so the address is localhost."
            )
        return port or 80, parts.path or "/mcp"
    for word, following in zip(command, (*command[1:], ""), strict=True):
        flag, equals, value = word.partition("=")
        if flag in {"--port", "-p", "--http-port"} and re.fullmatch(
            r"\d{1,5}", value if equals else following
        ):
            return int(value if equals else following), ""
    port_named = env.get("PORT", "")
    return (int(port_named), "") if re.fullmatch(r"\d{1,5}", port_named) else (0, "")


def _address(url: str, fields: Fields) -> str:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        known = False
    if not known:
        raise ConfigError(f"{fields.where}: url {url[:200]!r} is no http or https address.")
    return url
