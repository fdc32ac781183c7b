"""``server.json`` of the MCP registry: every package and every remote that it offers is one server.

Read as of schema 2025-12-11, and in the forms before it: snake_case fields, ``registry_name`` with ``name`` for an
identifier, the status inside, and the answer of the registry that wraps the file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sandbox.errors import ConfigError, UsageError
from sandbox.model import Json
from sandbox.targets.bundles import MOST_PACKED, read_bundle
from sandbox.targets.dockerrun import image_order
from sandbox.targets.documents import Fields, checked, read_file
from sandbox.targets.needs import Filler, with_needs
from sandbox.targets.orders import Given, Need, Order, PackageOrder
from sandbox.targets.packagewords import package_order
from sandbox.targets.templates import BRACES, fill

_MOST_OFFERS, _MOST_ARGUMENTS, _MOST_DEEP = 100, 500, 4

_PACKAGE = re.compile(r"(@[A-Za-z0-9~_-][\w.~-]*/)?[A-Za-z0-9~_][\w.~-]*(\[[\w, .-]+\])?")
_VERSION = re.compile(r"[A-Za-z0-9][\w.+!-]{0,99}")
_PIN = re.compile(r"[A-Za-z0-9][\w.\[\], <>=!~*-]{0,199}")
"""A name of npm or PyPI, and one exact version; a server.json may name no range."""

_FORMS = {"number": "number", "boolean": "boolean", "filepath": "file"}
_REGISTRIES = {"docker": "oci", "dockerhub": "oci", "pip": "pypi"}
_STREAMABLE = frozenset({"streamable-http", "streamable", "http"})


def is_server_json(value: Json) -> bool:
    """Whether a file's content is a server.json, or the registry's answer that holds one."""
    found = _unwrapped(value)
    return isinstance(found.get("name"), str) and (
        isinstance(found.get("packages"), list) or isinstance(found.get("remotes"), list)
    )


def server_name(value: Json) -> str:
    """The name of the server that a server.json, or the registry's answer with one, describes."""
    name = _unwrapped(value).get("name")
    return name if isinstance(name, str) else ""


def _unwrapped(value: Json) -> dict[str, Json]:
    """The file itself, out of the registry's answer."""
    inner = value.get("server") if isinstance(value, dict) else None
    found = inner if isinstance(inner, dict) else value
    return found if isinstance(found, dict) else {}


def read_server_json(
    value: Json,
    path: Path,
    *,
    called: str,
    only: str = "",
    environ: Mapping[str, str],
    given: Given,
    prefix: str = "",
) -> tuple[Order, ...]:
    """Every package and remote of a server.json, or the one named ``only``, in the order of the file.

    ``value`` is the file's content, read already, ``called`` the file as the user wrote it; ``environ`` the host's
    variables. ``prefix`` goes before the names of its offers.

    Names are ``npm``, ``pypi``, ``oci``, ``streamable-http`` and so on, from the second of its kind on ``npm-2``.
    What cannot be used is an order with a ``problem``. Raises UsageError where nothing is called ``only``, ConfigError
    for a file that is no server.json.
    """
    top = Fields(_unwrapped(value), path.name)
    offers: dict[str, tuple[Fields, bool]] = {}
    for key, remote in (("packages", False), ("remotes", True)):
        for one in top.objects(key):
            kind = _remote_type(one) if remote else _registry(one)
            count = sum(1 for name in offers if re.fullmatch(rf"{re.escape(kind)}(-\d+)?", name))
            offers[f"{kind}-{count + 1}" if count else kind] = (one, remote)
            if len(offers) > _MOST_OFFERS:
                raise ConfigError(f"{path}: more than {_MOST_OFFERS} packages and remotes.")
    if not offers:
        raise UsageError(f"{path}: offers no packages and no remotes.")
    if only and only not in offers:
        raise UsageError(f"{path}#{only}: no such package. The file offers: {', '.join(offers)}.")
    return tuple(
        _order(
            Order(f"{called}#{prefix}{name}", (f"{called}#{prefix}{name}",), str(path.parent)),
            fields,
            remote,
            environ,
            given,
        )
        for name, (fields, remote) in offers.items()
        if not only or name == only
    )


def _order(order: Order, fields: Fields, remote: bool, environ: Mapping[str, str], given: Given) -> Order:
    filler = Filler(given, invent=not remote)
    try:
        found = _remote(order, fields, filler) if remote else _package(order, fields, filler, environ, given)
    except UsageError as error:
        return dataclasses.replace(order, problem=str(error))
    return with_needs(found, filler)


def _registry(package: Fields) -> str:
    kind = package.text("registryType", "registryName").lower()
    return _REGISTRIES.get(kind, kind) or "unknown"


def _remote_type(remote: Fields) -> str:
    kind = remote.text("type", "transportType").lower()
    return "streamable-http" if kind in _STREAMABLE or not kind else kind


def _remote(order: Order, fields: Fields, filler: Filler) -> Order:
    values = _variables(fields, filler)
    url = fill(fields.text("url"), BRACES, values.get, fields.where)
    if urlsplit(url).scheme not in ("http", "https"):
        raise ConfigError(f"{fields.where}: url {url[:200]!r} is no http or https address.")
    headers = {}
    for header in fields.objects("headers"):
        told = _value(header, Need("input", header.text("name")), filler)
        if told:
            headers[header.text("name")] = told[0]
    kind = "sse" if _remote_type(fields) == "sse" else "http"
    return dataclasses.replace(order, url=url, headers=headers, transport=kind)


def _package(order: Order, fields: Fields, filler: Filler, environ: Mapping[str, str], given: Given) -> Order:
    kind = _registry(fields)
    identifier = fields.text("identifier", "name")
    if not identifier:
        raise ConfigError(f"{fields.where}: has no identifier.")
    by_name: dict[str, str] = {}
    arguments = _arguments(fields, "packageArguments", filler, by_name)
    before = _arguments(fields, "runtimeArguments", filler, by_name)
    env: dict[str, str] = {}
    for variable in fields.objects("environmentVariables"):
        name = variable.text("name")
        values = _value(variable, Need("env", name), filler)
        if values:
            env[name] = checked(values[0], f"{variable.where}.value")
            by_name[name] = values[0]
    if filler.missing:  # whose place is empty in what follows
        return order
    order = _spoken_to(dataclasses.replace(order, env=env), fields, by_name)
    version = fields.text("version")
    match kind:
        case "npm" | "pypi":
            named = _named(kind, identifier, version, fields.where)
            package, notes = _pinned(package_order((named, *arguments)), before)
            return dataclasses.replace(order, package=package, notes=notes)
        case "oci":
            tagged = "@" in identifier or ":" in identifier.rpartition("/")[2]
            image = identifier if tagged or not version else f"{identifier}:{version}"
            words = (
                "docker",
                "run",
                "-i",
                *before,
                *(word for name in env for word in ("-e", name)),
                image,
                *arguments,
            )
            found = image_order(words, cwd=Path(order.cwd), environ={**_quiet(environ), **env})
            return dataclasses.replace(order, image=found, env={})
        case "mcpb":
            return _bundle(order, fields, identifier, given, environ)
    raise ConfigError(
        f"{fields.where}: packages of {kind} are not run here. Install it, and name its command after --."
    )


def _named(kind: str, identifier: str, version: str, where: str) -> str:
    """The package as a target names it. Raises ConfigError for what is no name: a URL, a path, an option."""
    if not _PACKAGE.fullmatch(identifier) or (version and not _VERSION.fullmatch(version)):
        raise ConfigError(f"{where}: no package of {kind} is named {f'{identifier} {version}'[:200]!r}.")
    sign = "@" if kind == "npm" else "=="
    return (
        f"{kind}:{identifier}{sign}{version}" if version and version != "latest" else f"{kind}:{identifier}"
    )


def _quiet(environ: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the shell goes into an image for a file's sake."""
    return {name: environ[name] for name in ("HOME", "PATH") if name in environ}


def _pinned(package: PackageOrder, before: tuple[str, ...]) -> tuple[PackageOrder, tuple[str, ...]]:
    """The package with what the runner's own arguments say of it, and a note of those that were not followed."""
    pins, command, left = list(package.pins), package.command, []
    words = [word for word in before if word not in {"-y", "--yes", "--quiet", "-q", "--prefer-offline"}]
    while words:
        option, equals, value = words.pop(0).partition("=")
        takes = option in {"--with", "--from", "--package", "-p", "--python"}
        if takes and not equals:
            value = words.pop(0) if words else ""
        if option == "--with" and not _PIN.fullmatch(value):
            raise ConfigError(f"--with {value[:100]!r}: only packages by name are followed.")
        if option == "--with":
            pins.append(value)
        elif not takes:
            left.append(option)
        # The package is what --from and --package name; the program then follows as the runner's last word.
        if not option.startswith("-") and not words:
            command = option
            left.remove(option)
    note = (f"Not followed of the arguments for the runner: {shlex.join(left)}.",) if left else ()
    return dataclasses.replace(package, pins=tuple(pins), command=command), note


def _spoken_to(order: Order, fields: Fields, by_name: Mapping[str, str]) -> Order:
    """How the server is spoken to; its address may name an argument or a variable that was filled in."""
    transport = Fields(fields.get("transport") or {}, f"{fields.where}.transport")
    kind = transport.text("type").lower()
    if kind in ("", "stdio"):
        return dataclasses.replace(order, transport="stdio")
    if kind not in _STREAMABLE:
        raise ConfigError(
            f"{transport.where}: {kind[:40]} cannot be spoken to here, only stdio and streamable-http."
        )
    url = fill(
        transport.text("url"),
        BRACES,
        lambda name: by_name.get(name, by_name.get(name.lstrip("-"))),
        transport.where,
    )
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError as error:
        raise ConfigError(f"{transport.where}: url {url[:200]!r}: {error}.") from error
    return dataclasses.replace(order, transport="http", port=port, path=parts.path or "/mcp")


def _arguments(fields: Fields, key: str, filler: Filler, by_name: dict[str, str]) -> tuple[str, ...]:
    """The words that a list of arguments comes to; ``by_name`` is told the values that a URL may name."""
    words: list[str] = []
    for at, argument in enumerate(fields.objects(key)):
        if at >= _MOST_ARGUMENTS:
            raise ConfigError(f"{fields.where}.{key}: more than {_MOST_ARGUMENTS} arguments.")
        flag = argument.text("name") if argument.text("type") == "named" else ""
        hint = argument.text("valueHint", "name")
        values = _value(
            argument, Need("argument", flag or hint or f"argument-{at + 1}"), filler, is_flag=bool(flag)
        )
        for value in values:
            words += [flag, value] if flag and value else [flag or value]
        for name in filter(None, (flag, hint)):
            by_name[name] = values[0] if values else ""
    return tuple(checked(word, f"{fields.where}.{key}") for word in words)


def _value(field: Fields, need: Need, filler: Filler, *, is_flag: bool = False) -> tuple[str, ...]:
    """The values of an input: fixed by the file, given, its default, or made up where it is required.

    () leaves it out; ("",) is a flag that stands alone.
    """
    need = _described(field, need)
    fixed = field.text("value")
    if fixed:
        values = _variables(field, filler)
        told = fill(fixed, BRACES, values.get, field.where)
        if need.secret:
            filler.secrets.append(told)
        return (told,)
    if is_flag and need.form != "boolean" and not (field.value.keys() & _SAYS_VALUE):
        return ("",)
    given = filler.given(need)
    if given or need.default:
        return given or (need.default,)
    return filler.values(need) if field.true("isRequired") else ()


_SAYS_VALUE = frozenset(
    "valueHint value_hint default placeholder choices format isSecret is_secret description isRequired is_required".split()
)
"""Fields that show that a named argument takes a value."""


def _described(field: Fields, need: Need) -> Need:
    return dataclasses.replace(
        need,
        why=" ".join(field.text("description").split()),
        secret=field.true("isSecret"),
        default=field.text("default"),
        choices=field.texts("choices"),
        form=_FORMS.get(field.text("format"), ""),
    )


def _variables(field: Fields, filler: Filler) -> dict[str, str]:
    """The values of a template's variables; one that is optional and that nobody gave is empty."""
    found: dict[str, str] = {}
    if field.where.count(".variables.") > _MOST_DEEP:
        raise ConfigError(f"{field.where[:200]}: variables within variables, too deep.")
    for name, value in field.table("variables").items():
        inner = Fields(value, f"{field.where}.variables.{name[:80]}")
        values = _value(inner, Need("input", name), filler)
        found[name] = values[0] if values else ""
    return found


def _bundle(order: Order, fields: Fields, identifier: str, given: Given, environ: Mapping[str, str]) -> Order:
    """A bundle that lies beside the file under the name that its address ends in; its digest is checked first."""
    name = unquote(urlsplit(identifier).path).rpartition("/")[2]
    path = Path(order.cwd, name)
    if not name or not path.is_file():
        raise ConfigError(
            f"{fields.where}: the bundle {identifier[:300]} is not here. Download it to {path}, and try again."
        )
    wanted = fields.text("fileSha256").lower()
    content = read_file(path, MOST_PACKED)
    if wanted and hashlib.sha256(content).hexdigest() != wanted:
        raise ConfigError(f"{path}: its SHA-256 is not the one that {fields.where} names ({wanted[:64]}).")
    found = read_bundle(path, environ=environ, given=given)
    note = () if wanted else (f"{fields.where} names no fileSha256, so the bundle was not checked.",)
    return dataclasses.replace(
        found,
        name=order.name,
        words=order.words,
        env={**found.env, **order.env},
        notes=(*found.notes, *note),
    )
