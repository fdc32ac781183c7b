"""What the recipes of npm and PyPI have in common: running an installer in its box and reading what it says."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import InstallError
from sandbox.model import Effect, EffectKind, Json, Weight
from sandbox.provision.installbox import install
from sandbox.provision.plan import Installed, InstallPlan, Tree
from sandbox.report.escaping import visible_lines
from sandbox.targets.layers import Layer

ASIDE = "/srv/installer"
"""Where an installer has its caches, logs and settings, which are thrown away."""

_LINES, _LINE = 15, 300

_WORK = frozenset({EffectKind.PROCESS_SPAWNED, EffectKind.PROCESS_SIGNALLED, EffectKind.IPC_CONNECT})
_SEEN_OUTSIDE = frozenset(
    {
        EffectKind.NET_LOOKUP,
        EffectKind.NET_CONNECT,
        EffectKind.NET_REQUEST,
        EffectKind.NET_DATAGRAM,
        EffectKind.SECRET_READ,
    }
)


@dataclass(frozen=True, slots=True)
class Kitchen:
    """What a recipe works with.

    ``environ`` are the variables of the user's shell, ``say`` is told what is being done, ``starts`` says why the
    server of a layer does not start, "" when it does. ``cancelled`` is asked while an installation runs.
    """

    environ: Mapping[str, str]
    say: Callable[[str], None]
    starts: Callable[[Layer], str]
    cancelled: Callable[[], bool] = lambda: False

    def install(self, plan: InstallPlan, into: Path, what: str) -> tuple[Installed, Tree]:
        """Install to an empty folder.

        Raises InstallError with what the installer said where it fails, and as ``installbox.install``.
        """
        done = install(plan, into, cancelled=self.cancelled)
        if done.status != 0 or done.tree is None:
            raise InstallError(_why_not(what, plan, done))
        return done, done.tree

    def ask(self, plan: InstallPlan, scratch: Path, what: str) -> Mapping[str, Json]:
        """The JSON object that a command in an installation's box prints; nothing of its folder is kept.

        Raises as :meth:`install` does.
        """
        scratch.mkdir()
        done, _ = self.install(plan, scratch, what)
        lines = done.stdout.strip().splitlines()
        try:
            found = json.loads(lines[-1] if lines else "null")
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise InstallError(f"{what}: the registry's answer makes no sense:\n{said(done.stdout)}")
        return found


def now() -> str:
    """This moment, as an Installation has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def notes_of(done: Installed, settings: Sequence[str]) -> tuple[str, ...]:
    """Sentences about an installation that ended well."""
    notes = [*settings, *(sentence for _, sentence in done.limits_hit)]
    if done.tree is not None and done.tree.left_out:
        more = done.tree.left_out_count - len(done.tree.left_out)
        notes.append(f"Not kept: {'; '.join(done.tree.left_out)}{f'; and {more} more' if more > 0 else ''}.")
    notes += [
        f"{instrument.value} did not work for the whole installation." for instrument in sorted(done.missing)
    ]
    return tuple(notes)


def effects_of(done: Installed) -> tuple[Effect, ...]:
    """What an installation did beyond its work: not the programs that it ran, nor what was gone when it ended."""
    return tuple(
        effect
        for effect in done.effects
        if effect.kind not in _WORK
        and (effect.weight is not Weight.TRANSIENT or effect.kind in _SEEN_OUTSIDE)
    )


def said(text: str) -> str:
    """The end of what an installer said, for people."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return "\n".join(f"  {line}" for line in visible_lines("\n".join(lines[-_LINES:]), _LINES, _LINE))


def _why_not(what: str, plan: InstallPlan, done: Installed) -> str:
    told = [f"{what} cannot be installed{f': {done.stopped}' if done.stopped else ''}."]
    if done.unreached:
        told.append(f"Not reached: {'; '.join(done.unreached[:5])}.")
    elif plan.hosts and not any(each.received for each in done.relayed):
        told.append(f"Nothing came from {', '.join(plan.hosts)}: is there a network?")
    if done.refused:
        told.append(
            f"It wanted to reach {', '.join(done.refused[:5])}, which is no registry of yours; nothing else is reached."
        )
    if words := said(done.stderr) or said(done.stdout):
        told += ["The installer's last words:", words]
    return "\n".join(told)


def replace_folder(old: Path, new: Path) -> None:
    """Put a folder in the place of an empty one."""
    old.rmdir()
    os.rename(new, old)
