"""The options of ``docker run`` and ``podman run``: which there are, which take a value, and what a box makes of each.

Sources: the reference pages of ``docker container run`` (engine 29) and ``podman run`` (5.6), as the words of
client configurations are written after them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sandbox.errors import UsageError


class Treatment(Enum):
    """What becomes of an option."""

    HONOURED = "honoured"
    AS_IT_IS = "asks for what a box does anyway, or for nothing that a server could notice"
    WITHOUT_MEANING = "has no meaning in a box, which the report says"
    REFUSED = "would change what the server is, and cannot be had"


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its long name, whether a value follows, its treatment, and for a refusal the reason."""

    name: str
    takes_value: bool
    treatment: Treatment
    why: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """An option as it was given: ``spelled`` as the user wrote its name, ``value`` "" where it takes none."""

    option: Option
    spelled: str
    value: str = ""


_SWITCHES = {
    Treatment.AS_IT_IS: "init interactive no-healthcheck quiet replace rm rmi sig-proxy tls-verify disable-content-trust",
    Treatment.WITHOUT_MEANING: (
        "detach http-proxy no-hostname no-hosts oom-kill-disable privileged publish-all read-only read-only-tmpfs tty"
    ),
}
_WITH_VALUE = {
    Treatment.HONOURED: "add-host entrypoint env env-file group-add mount platform pull tmpfs user volume workdir",
    Treatment.AS_IT_IS: (
        "annotation attach cidfile conmon-pidfile detach-keys label label-file log-driver log-level log-opt name"
        " pidfile restart stop-signal stop-timeout"
    ),
    Treatment.WITHOUT_MEANING: (
        "blkio-weight blkio-weight-device cap-add cap-drop cgroup-conf cgroup-parent cgroupns cgroups chrootdirs"
        " cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems device"
        " device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops dns dns-option"
        " dns-search domainname expose gidmap gpus health-cmd health-interval health-on-failure health-retries"
        " health-start-interval health-start-period health-timeout hostname ip ip6 ipc isolation kernel-memory"
        " link link-local-ip mac-address memory memory-reservation memory-swap memory-swappiness network"
        " network-alias oom-score-adj pid pids-limit pod publish runtime security-opt shm-size storage-opt"
        " sysctl systemd timeout tz uidmap ulimit umask userns uts volume-driver"
    ),
}
_REFUSED = (
    Option("volumes-from", True, Treatment.REFUSED, "what lies in another container cannot be copied"),
    Option("rootfs", False, Treatment.REFUSED, "name an image, or an archive of one"),
    Option("env-host", False, Treatment.REFUSED, "name each variable that the server needs with -e"),
    Option("secret", True, Treatment.REFUSED, "give the value with -e, or the file with -v"),
    Option("use-api-socket", False, Treatment.REFUSED, "no engine is within a box's reach"),
    Option("help", False, Treatment.REFUSED, "that prints a page and starts no server"),
)

OPTIONS: Mapping[str, Option] = {
    **{
        name: Option(name, False, treatment)
        for treatment, names in _SWITCHES.items()
        for name in names.split()
    },
    **{
        name: Option(name, True, treatment)
        for treatment, names in _WITH_VALUE.items()
        for name in names.split()
    },
    **{option.name: option for option in _REFUSED},
}
"""Every option by its long name."""

_OTHER_NAMES = {"net": "network", "net-alias": "network-alias", "dns-opt": "dns-option"}

_SHORT = {
    "a": "attach",
    "c": "cpu-shares",
    "d": "detach",
    "e": "env",
    "h": "hostname",
    "i": "interactive",
    "l": "label",
    "m": "memory",
    "p": "publish",
    "P": "publish-all",
    "q": "quiet",
    "t": "tty",
    "u": "user",
    "v": "volume",
    "w": "workdir",
}


def split_options(words: Sequence[str], program: str) -> tuple[tuple[Given, ...], tuple[str, ...]]:
    """The options before the image, and the words from the image on.

    ``program`` is ``docker`` or ``podman``, for messages. An option that is switched off (``--rm=false``) is
    left out. Raises UsageError for an option that there is not, with the nearest one that there is, for one
    that a box cannot honour, and for a missing value.
    """
    given: list[Given] = []
    pending = list(words)
    while pending and pending[0].startswith("-") and pending[0] != "-":
        word = pending.pop(0)
        if word == "--":
            break
        given += _long(word, pending, program) if word.startswith("--") else _shorts(word, pending, program)
    for each in given:
        if each.option.treatment is Treatment.REFUSED:
            raise UsageError(f"{program} run {each.spelled}: {each.option.why}.")
    return tuple(given), tuple(pending)


def _long(word: str, pending: list[str], program: str) -> Iterator[Given]:
    name, equals, value = word.removeprefix("--").partition("=")
    option = OPTIONS.get(_OTHER_NAMES.get(name, name))
    if option is None:
        near = difflib.get_close_matches(name, [*OPTIONS, *_OTHER_NAMES], n=1, cutoff=0.6)
        hint = f" Did you mean --{near[0]}?" if near else ""
        raise UsageError(f"{program} run --{name}: there is no such option.{hint}")
    spelled = f"--{name}"
    if option.takes_value:
        yield Given(option, spelled, value if equals else _next(pending, spelled, program))
    elif value.lower() not in {"false", "f", "0"}:
        yield Given(option, spelled)


def _shorts(word: str, pending: list[str], program: str) -> Iterator[Given]:
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        name = _SHORT.get(letter)
        if name is None:
            known = ", ".join(f"-{each}" for each in _SHORT)
            raise UsageError(
                f"{program} run {word}: there is no option -{letter}. The short ones are {known}."
            )
        option, spelled = OPTIONS[name], f"-{letter}"
        if option.takes_value:
            value = letters.removeprefix("=") if letters else _next(pending, spelled, program)
            yield Given(option, spelled, value)
            return
        if letters.startswith("="):
            if letters[1:].lower() not in {"false", "f", "0"}:
                yield Given(option, spelled)
            return
        yield Given(option, spelled)


def _next(pending: list[str], spelled: str, program: str) -> str:
    if not pending:
        raise UsageError(f"{program} run {spelled}: a value has to follow.")
    return pending.pop(0)
