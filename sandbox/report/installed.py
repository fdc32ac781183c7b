"""How a server's package was installed, and what that did beyond it, in lines for people."""

from __future__ import annotations

from datetime import UTC, datetime

from sandbox.model import Effect, EffectKind, Installation

_CONTACTS = frozenset(
    {EffectKind.NET_LOOKUP, EffectKind.NET_CONNECT, EffectKind.NET_REQUEST, EffectKind.NET_DATAGRAM}
)


def installation_lines(installation: Installation, today: datetime | None = None) -> list[str]:
    """What was installed and when, then everything that it did outside of its own folder."""
    runtime = [f"{name} {version}" for name, version in installation.runtime.items()]
    count = len(installation.packages)
    facts = [
        installation.package,
        *runtime,
        f"{count} package{'' if count == 1 else 's'}",
        "installed by this run"
        if installation.fresh
        else f"installed {_age(installation.installed_at, today)}",
        *([] if installation.scripts else ["install scripts forbidden"]),
    ]
    lines = [" · ".join(facts)]
    if installation.before:
        lines.append(
            f"It does not start on today's dependencies: they are those of {installation.before}, the newest on which it does."
        )
    lines += installation.notes
    return [*lines, *map(_told, installation.effects)]


def _told(effect: Effect) -> str:
    if effect.kind in _CONTACTS:
        return f"its installation tried to reach the network: {effect.summary}"
    return f"its installation, outside of the package: {effect.summary}"


def _age(moment: str, today: datetime | None) -> str:
    try:
        made = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    except ValueError:
        return "at an unknown time"
    days = ((today or datetime.now(UTC)) - made).days
    return f"on {made:%Y-%m-%d}" + (f", {days} days ago" if days > 1 else "")
