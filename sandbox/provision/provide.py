"""From an order for a package to the layer in which it is installed: from the store, or installed now."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sandbox.config.caches import cache_folder
from sandbox.provision.layers import Draft, LayerStore
from sandbox.provision.npm import install_npm
from sandbox.provision.pypi import install_pypi
from sandbox.provision.recipe import Kitchen
from sandbox.targets.layers import Layer
from sandbox.targets.orders import Ecosystem, PackageOrder
from sandbox.targets.pathfiles import normalized


@contextmanager
def provided(
    order: PackageOrder,
    *,
    environ: Mapping[str, str],
    starts: Callable[[Layer], str] = lambda _: "",
    refresh: bool = False,
    say: Callable[[str], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Layer]:
    """A package installed in a layer, which stays for the length of the block; nothing of it is run outside of a box.

    What is in the store is taken as it is, also for an order without a version; ``refresh`` installs anew. ``starts``
    says why the server of a layer does not start, "" when it does. ``say`` is told what takes long.

    Raises:
        InstallError: the package cannot be installed.
        NoSandboxError: no sandbox works on this machine.
        CancelledError: ``cancelled`` said so.
    """
    store = LayerStore(cache_folder(environ, "layers"))
    kitchen = Kitchen(environ, say, starts, cancelled)

    @contextmanager
    def other(runtime: PackageOrder) -> Iterator[Layer]:
        with provided(runtime, environ=environ, say=say, cancelled=cancelled) as layer:
            yield layer

    def make(place: Path) -> Draft:
        if order.ecosystem is Ecosystem.NPM:
            draft = install_npm(order, place, kitchen, other)
        else:
            draft = install_pypi(order, place, kitchen)
        exact = request_of(dataclasses.replace(order, version=draft.version))
        return dataclasses.replace(draft, requests=(exact,))

    with store.layer(request_of(order), make, refresh=refresh, say=say) as layer:
        yield layer


def request_of(order: PackageOrder) -> str:
    """The key of what is asked for: the parts of an order that make a difference to what is installed."""
    name = order.name if order.ecosystem is Ecosystem.NPM else normalized(order.name)
    extras = sorted(map(normalized, order.extras))
    parts = [
        order.ecosystem.value,
        name,
        order.version,
        extras,
        sorted(order.pins),
        order.scripts,
        platform.machine(),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
