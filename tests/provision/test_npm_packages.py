"""Packages of npm, from a registry on loopback to a layer and a Launch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from loopregistry import NPM_SERVER, Registry

from sandbox.errors import InstallError
from sandbox.model import EffectKind
from sandbox.provision.provide import provided
from sandbox.targets.orders import Ecosystem, PackageOrder
from sandbox.targets.packages import package_launch

SCRIPT = """
const fs = require('fs'), os = require('os'), path = require('path'), dns = require('dns');
fs.writeFileSync(path.join(os.homedir(), '.profile'), 'echo owned\\n');
fs.writeFileSync(path.join(__dirname, 'built.txt'), 'built');
dns.lookup('collector.example', () => {});
"""


def order(name: str, version: str = "", **more: object) -> PackageOrder:
    return PackageOrder(Ecosystem.NPM, name, version, **more)  # type: ignore[arg-type]


def publish(
    registry: Registry, name: str = "@corp/small-server", version: str = "1.2.0", **facts: object
) -> None:
    files = {"index.js": NPM_SERVER, "install.js": SCRIPT}
    registry.npm(name, version, files, bin={"small-server": "index.js"}, **facts)


def test_a_package_is_installed_once_and_found_again(registry: Registry, environ: Mapping[str, str]) -> None:
    publish(registry)

    with provided(order("@corp/small-server"), environ=environ) as first:
        assert (first.name, first.version) == ("@corp/small-server", "1.2.0")
        assert first.installation.package == "npm:@corp/small-server@1.2.0"
        assert first.installation.packages == ("@corp/small-server==1.2.0",)
        assert first.installation.fresh
        assert first.installation.effects == ()
    asked = len(registry.asked)
    with provided(order("@corp/small-server"), environ=environ) as second:
        assert (second.key, second.installation.fresh) == (first.key, False)
    with provided(order("@corp/small-server", "1.2.0"), environ=environ) as exact:
        assert exact.key == first.key
    assert len(registry.asked) == asked


def test_refresh_takes_the_newest(registry: Registry, environ: Mapping[str, str]) -> None:
    publish(registry)
    with provided(order("@corp/small-server"), environ=environ):
        pass
    publish(registry, version="2.0.0")

    with provided(order("@corp/small-server"), environ=environ) as kept:
        assert kept.version == "1.2.0"
    with provided(order("@corp/small-server"), environ=environ, refresh=True) as newest:
        assert newest.version == "2.0.0"
    with provided(order("@corp/small-server"), environ=environ) as later:
        assert later.version == "2.0.0"


def test_what_an_install_script_does_outside_is_told_now_and_later(
    registry: Registry, environ: Mapping[str, str]
) -> None:
    publish(registry, scripts={"postinstall": "node install.js"})

    for fresh in (True, False):
        with provided(order("@corp/small-server"), environ=environ) as layer:
            assert layer.installation.fresh is fresh
            assert Path(layer.root, "node_modules/@corp/small-server/built.txt").read_text() == "built"
            told = {(effect.kind, effect.subject) for effect in layer.installation.effects}
            assert (EffectKind.FILE_CREATED, "/home/user/.profile") in told
            assert any(kind is EffectKind.NET_LOOKUP and "collector.example" in name for kind, name in told)


def test_install_scripts_can_be_forbidden(registry: Registry, environ: Mapping[str, str]) -> None:
    publish(registry, scripts={"postinstall": "node install.js"})

    with provided(order("@corp/small-server", scripts=False), environ=environ) as layer:
        assert not layer.installation.scripts
        assert layer.installation.effects == ()
        assert not Path(layer.root, "node_modules/@corp/small-server/built.txt").exists()


def test_the_launch_of_a_layer_runs_in_it(
    registry: Registry, environ: Mapping[str, str], tmp_path: Path
) -> None:
    publish(registry)
    asked = order("@corp/small-server", arguments=("--quick",))

    with provided(asked, environ=environ) as layer:
        launch = package_launch(
            asked, layer, command=("npm:@corp/small-server",), cwd=tmp_path, environ=environ
        )

    assert launch.argv[1:] == ("/srv/server/node_modules/@corp/small-server/index.js", "--quick")
    assert launch.mounts == ((layer.root, "/srv/server"),)
    assert launch.versions["@corp/small-server"] == "1.2.0"
    assert launch.installation == layer.installation


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("nowhere-to-be-found", "", "404"),
        ("@corp/small-server", "7.7.7", "7.7.7"),
        ("../escape", "", "no package of a registry"),
        ("@corp/small-server", "file:/etc", "only versions"),
    ],
)
def test_what_cannot_be_installed_is_an_error_that_says_why(
    registry: Registry, environ: Mapping[str, str], name: str, version: str, said: str
) -> None:
    publish(registry)

    with pytest.raises(InstallError, match=said), provided(order(name, version), environ=environ):
        pass
    assert not [
        entry for entry in os.listdir(Path(environ["XDG_CACHE_HOME"], "hintproof/layers")) if entry != "index"
    ]


def test_a_package_that_asks_for_a_node_that_is_not_to_be_had(
    registry: Registry, environ: Mapping[str, str]
) -> None:
    publish(registry, engines={"node": ">=999"})

    with (
        pytest.raises(InstallError, match="asks for node >=999"),
        provided(order("@corp/small-server"), environ=environ),
    ):
        pass


def test_the_node_that_a_package_asks_for_is_installed_and_used(
    registry: Registry, environ: Mapping[str, str], tmp_path: Path
) -> None:
    node = f"node-linux-{'arm64' if os.uname().machine == 'aarch64' else 'x64'}"
    registry.npm(node, "99.1.0", {"bin/node": '#!/bin/sh\nNODE_99=1 exec node-of-the-machine "$@"\n'})
    real = shutil.which("node", path=environ["PATH"])
    registry.npm(node, "99.2.0", {"bin/node": f'#!/bin/sh\nexec {os.path.realpath(real or "")} "$@"\n'})
    publish(registry, engines={"node": ">=99"})

    with provided(order("@corp/small-server"), environ=environ) as layer:
        assert layer.installation.runtime == {"node": "99.2.0"}
        launch = package_launch(
            order("@corp/small-server"), layer, command=("x",), cwd=tmp_path, environ=environ
        )
        assert launch.argv[0] == "/srv/node/bin/node"
        assert (layer.node, "/srv/node") in launch.mounts
        assert os.path.isfile(Path(layer.node, "bin/node"))
