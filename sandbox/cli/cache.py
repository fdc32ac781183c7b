"""``hintproof cache``: what is kept from one run to the next, and its end."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

import click

from sandbox.errors import NoSandboxError
from sandbox.report.escaping import visible


@click.command("cache")
@click.argument("action", type=click.Choice(["show", "clear"]), default="show")
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
def command(action: str, as_json: bool) -> None:
    """Show the packages that were installed for servers and the images that were unpacked, or clear them.

    What a run uses at the moment is never removed. What is kept is bounded anyway: what was used longest ago goes.
    What --host docker keeps lies in volumes of Docker (docker volume ls).
    """
    if sys.platform != "linux":
        raise NoSandboxError(
            "on this system everything is kept in volumes of Docker: see `docker volume ls`."
        )
    found = _clear() if action == "clear" else _show()
    if as_json:
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
        return
    for kind in ("packages", "images"):
        part: dict[str, Any] = found[kind]
        if action == "clear":
            _say(f"{kind}: {part['removed']} removed, {_size(part['bytes'])}; {part['left']} in use are left")
            continue
        total = sum(entry["bytes"] for entry in part["kept"])
        _say(f"{kind}: {len(part['kept'])} in {part['folder']}, {_size(total)}")
        for entry in part["kept"]:
            _say(f"  {_line(entry)}")


def _show() -> dict[str, dict[str, Any]]:
    layers, images = _stores()
    packages = [
        {
            "package": kept.layer.installation.package,
            "packages": len(kept.layer.installation.packages),
            "runtime": dict(kept.layer.installation.runtime),
            "installed_at": kept.layer.installation.installed_at,
            "scripts": kept.layer.installation.scripts,
            "effects": len(kept.layer.installation.effects),
            **_facts(kept.used, kept.layer.size, kept.in_use),
        }
        for kept in layers.layers()
    ]
    unpacked = [
        {"digest": kept.image.digest, **_facts(kept.used, kept.image.size, kept.in_use)}
        for kept in images.images()
    ]
    return {
        "packages": {"folder": str(layers.folder), "kept": packages},
        "images": {"folder": str(images.folder), "kept": unpacked},
    }


def _clear() -> dict[str, dict[str, Any]]:
    layers, images = _stores()
    result = {}
    for kind, removed, left in (
        ("packages", layers.clear(), layers.layers()),
        ("images", images.clear(), images.images()),
    ):
        count, size = removed
        result[kind] = {"removed": count, "bytes": size, "left": len(left)}
    return result


def _stores() -> Any:
    from sandbox.config.caches import cache_folder
    from sandbox.containers.cache import ImageCache
    from sandbox.linux.namespaces import server_owner
    from sandbox.provision.layers import LayerStore

    return (
        LayerStore(cache_folder(os.environ, "layers")),
        ImageCache(cache_folder(os.environ, "images"), server_owner()),
    )


def _facts(used: float, size: int, in_use: bool) -> dict[str, Any]:
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(used))
    return {"used_at": when, "bytes": size, "in_use": in_use}


def _line(entry: Mapping[str, Any]) -> str:
    what = entry.get("package") or f"image {entry['digest'].removeprefix('sha256:')[:12]}"
    facts = [what, *(f"{name} {version}" for name, version in entry.get("runtime", {}).items())]
    if "packages" in entry:
        facts.append(f"{entry['packages']} package{'' if entry['packages'] == 1 else 's'}")
    facts += [_size(entry["bytes"]), f"used {entry['used_at'][:10]}"]
    facts += ["in use"] if entry["in_use"] else []
    return " · ".join(facts)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.2f} GB"


def _say(text: str) -> None:
    click.echo(visible(text))
