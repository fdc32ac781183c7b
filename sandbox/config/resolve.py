"""Defaults < settings file < command line, and errors that name the file, the line and the nearest valid key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from sandbox.config import values
from sandbox.config.files import SettingsFile, find_settings_file
from sandbox.config.settings import HOSTS, PROFILES, TRANSPORTS, AllowRule, Settings
from sandbox.errors import ConfigError, UsageError
from sandbox.model import FailOn, Severity

_Value = TypeVar("_Value")

_OPTIONS = {
    "host": "--host",
    "profile": "--profile",
    "seed": "--seed",
    "budget": "--budget",
    "limits": "--limit",
    "timeouts": "--timeout",
    "workspace": "--workspace",
    "env": "-e",
    "expose": "--expose",
    "closed_world": "--closed-world",
    "transport": "--transport",
    "port": "--port",
    "path": "--path",
    "tools": "--tool",
    "fail_on": "--fail-on",
    "min_severity": "--min-severity",
    "min_coverage": "--min-coverage",
}
"""Settings by key, with the option that names each one on the command line; ``allow`` has none on purpose."""

_KEYS = frozenset({*_OPTIONS, "allow"})

_ALLOW_KEYS = frozenset({"path", "host", "tool", "reason", "expires"})


def resolve_settings(
    flags: Mapping[str, object],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    file: SettingsFile | None = None,
) -> Settings:
    """The settings of one run.

    ``flags`` holds what the command line gave, by setting key, as the words typed (lists of words for options
    that repeat); None and empty lists count as not given. ``file`` is the settings file; without one the
    nearest to ``cwd`` is taken. Lists of the command line replace those of the file; ``env``, ``limits`` and
    ``timeouts`` are merged by name.

    Raises ConfigError for a fault in the file, UsageError for one on the command line.
    """
    found = file if file is not None else find_settings_file(cwd)
    settings = Settings(source=found.path if found is not None else None)
    if found is not None:
        settings = _from_file(settings, found, environ)
    given = {key: value for key, value in flags.items() if value not in (None, [], (), {})}
    for key in given:
        if key not in _OPTIONS:
            raise UsageError(f"{key}: no such setting.{values.nearest(key, _OPTIONS)}")
    for key, value in given.items():
        try:
            settings = _apply(settings, key, value, cwd, environ)
        except ValueError as error:
            raise UsageError(f"{_OPTIONS[key]}: {error}") from error
    if settings.transport == "http" and settings.port is None:
        raise UsageError("--transport http: needs --port, the port that the server listens on.")
    return settings


def _from_file(settings: Settings, file: SettingsFile, environ: Mapping[str, str]) -> Settings:
    for key, value in file.values.items():
        _known(file, key, key, _KEYS)
        if key == "allow":
            settings = replace(settings, allow=_allow_rules(file, value))
            continue
        if key in {"limits", "timeouts"} and isinstance(value, Mapping):
            for name in value:
                _known(file, f"{key}.{name}", name, (each.name for each in fields(getattr(settings, key))))
        settings = _checked(file, key, partial(_apply, settings, key, value, file.path.parent, environ))
    return settings


def _apply(settings: Settings, key: str, value: object, folder: Path, environ: Mapping[str, str]) -> Settings:
    """One setting over the others; paths are relative to ``folder``. Raises ValueError."""
    match key:
        case "host":
            return replace(settings, host=values.choice(value, HOSTS))
        case "profile":
            return replace(settings, profile=values.choice(value, PROFILES))
        case "seed":
            return replace(settings, seed=values.whole(value, 0, 2**53))
        case "budget":
            return replace(settings, budget=values.budget(value))
        case "limits":
            return replace(settings, limits=values.limits(value, settings.limits))
        case "timeouts":
            return replace(settings, timeouts=values.timeouts(value, settings.timeouts))
        case "workspace":
            return replace(settings, workspace=folder / values.text(value))
        case "env":
            return replace(settings, env={**settings.env, **values.variables(value, environ)})
        case "expose":
            return replace(settings, expose=tuple(folder / word for word in values.texts(value)))
        case "closed_world":
            return replace(settings, closed_world=values.hosts(value))
        case "transport":
            return replace(settings, transport=values.choice(value, TRANSPORTS))
        case "port":
            return replace(settings, port=values.whole(value, 1, 65535))
        case "path":
            return replace(settings, path=values.url_path(value))
        case "tools":
            return replace(settings, tools=values.texts(value))
        case "fail_on":
            return replace(settings, fail_on=FailOn(values.choice(value, FailOn)))
        case "min_severity":
            return replace(settings, min_severity=Severity(values.choice(value, Severity)))
        case _:
            return replace(settings, min_coverage=values.whole(value, 0, 100))


def _allow_rules(file: SettingsFile, value: object) -> tuple[AllowRule, ...]:
    if not isinstance(value, list) or not all(isinstance(rule, dict) for rule in value):
        raise ConfigError(f"{file.where('allow')}: allow is a list of tables, each written [[allow]].")
    return tuple(_allow_rule(file, f"allow.{index}", rule) for index, rule in enumerate(value))


def _allow_rule(file: SettingsFile, at: str, rule: Mapping[str, object]) -> AllowRule:
    for key in rule:
        _known(file, f"{at}.{key}", key, _ALLOW_KEYS)
    if ("path" in rule) == ("host" in rule):
        raise ConfigError(f"{file.where(at)}: a rule of allow names either a path or a host.")
    if "reason" not in rule:
        raise ConfigError(f"{file.where(at)}: a rule of allow needs a reason.")
    expires = rule.get("expires")
    return AllowRule(
        reason=_checked(file, f"{at}.reason", lambda: values.text(rule["reason"])),
        path=_checked(file, f"{at}.path", lambda: values.text(rule["path"])) if "path" in rule else "",
        host=_checked(file, f"{at}.host", lambda: values.hosts([rule["host"]])[0]) if "host" in rule else "",
        tool=_checked(file, f"{at}.tool", lambda: values.text(rule.get("tool", "*"))),
        expires=_checked(file, f"{at}.expires", lambda: values.day(expires)) if "expires" in rule else None,
        where=file.where(at),
    )


def _checked(file: SettingsFile, key: str, read: Callable[[], _Value]) -> _Value:
    try:
        return read()
    except ValueError as error:
        raise ConfigError(f"{file.where(key)}: {key}: {error}") from error


def _known(file: SettingsFile, at: str, key: str, valid: Iterable[str]) -> None:
    names = list(valid)
    if key not in names:
        raise ConfigError(f"{file.where(at)}: no setting is called {key}.{values.nearest(key, names)}")
