"""Installing from the registries that this machine really has: by name they are reached, by address nothing is."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sandbox.boxes import Exposure
from sandbox.provision.installbox import install
from sandbox.provision.plan import Installed, InstallPlan
from sandbox.provision.registries import hosts_of, npm_settings
from sandbox.targets.node import node_closure

pytestmark = pytest.mark.real

PACKAGE = "@modelcontextprotocol/server-memory"

REACH = """
const net = require('net');
const [host, port] = process.argv.slice(1);
net.connect(Number(port), host).on('data', () => {}).on('error', (error) => console.log(error.code))
  .on('close', () => console.log('closed')).write('GET / HTTP/1.0\\r\\n\\r\\n');
"""


@pytest.fixture
def registry() -> str:
    found = shutil.which("npm")
    assert found is not None
    return npm_settings([found], os.environ).registries[""]


def in_a_box(registry: str, kept: Path, *argv: str) -> Installed:
    kept.mkdir()
    node = shutil.which("node")
    assert node is not None
    shown = {str(path.resolve()) for path in node_closure(Path(node), os.environ)}
    npm = os.path.realpath(shutil.which("npm") or "")
    plan = InstallPlan(
        argv=(node, *(word.replace("NPM", npm) for word in argv)),
        folder="/srv/kept",
        hosts=hosts_of([registry]),
        env={"npm_config_registry": registry, "npm_config_cache": "/srv/aside"},
        aside=("/srv/aside",),
        exposures=tuple(map(Exposure, sorted({*shown, os.path.dirname(os.path.dirname(npm))}))),
    )
    return install(plan, kept)


def test_npm_installs_through_the_relay_and_does_nothing_else(registry: str, tmp_path: Path) -> None:
    words = ("install", "--no-audit", "--no-fund", "--no-update-notifier", PACKAGE)

    done = in_a_box(registry, tmp_path / "kept", "NPM", *words)

    assert done.status == 0, done.stderr
    manifest = json.loads((tmp_path / "kept/node_modules" / PACKAGE / "package.json").read_text())
    assert manifest["name"] == PACKAGE
    assert {each.host for each in done.relayed} == {hosts_of([registry])[0].removeprefix("http://")}
    assert sum(each.received for each in done.relayed) > 100_000
    assert (done.effects, done.refused, done.limits_hit) == ((), (), ())
    assert done.tree is not None
    assert done.tree.left_out == ()


def test_the_registrys_own_address_is_no_way_out(registry: str, tmp_path: Path) -> None:
    parts = urlsplit(registry)
    port = parts.port or {"https": 443, "http": 80}[parts.scheme]
    address = socket.getaddrinfo(parts.hostname, port, socket.AF_INET)[0][4][0]

    done = in_a_box(registry, tmp_path / "kept", "-e", REACH, str(address), str(port))

    assert done.stdout.splitlines()[-1] == "closed"
    assert done.refused == (f"{address}:{port}",)
    assert done.relayed == ()
