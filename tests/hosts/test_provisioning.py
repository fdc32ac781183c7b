"""The process that installs packages for the docker host, run without a container; and what its container is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from standin import StandIn

from sandbox.config import Settings
from sandbox.containers.spec import ContainerRung
from sandbox.errors import ImageMissingError, InstallError, StreamError
from sandbox.events import Event
from sandbox.hosts.docker import container_spec
from sandbox.hosts.job import Job, Task
from sandbox.hosts.layervolume import LAYERS, install_spec, settings, write_order
from sandbox.hosts.mounts import Bind, Sight, View
from sandbox.hosts.stream import hear_of_layer
from sandbox.linux import kept
from sandbox.model import Installation
from sandbox.provision.layers import Draft, LayerStore
from sandbox.provision.provide import request_of
from sandbox.targets.orders import Ecosystem, PackageOrder

MODULE = "sandbox.hosts.provisioning"
ORDER = PackageOrder(Ecosystem.NPM, "a-server", "1.0.0")
NOTHING = {"variables": {}, "files": {}, "certificates": ""}
RUNG = ContainerRung("user", "1000:1000", (), "as a user")


def job(order: PackageOrder = ORDER) -> Job:
    return Job(Task.VERIFY, (f"npm:{order.name}",), "/", Settings(), run="run-1", package=order)


@pytest.fixture
def store(tmp_path: Path) -> LayerStore:
    """A store that has the package."""

    def make(place: Path) -> Draft:
        (place / "server.js").write_text("serve()")
        facts = Installation(package="npm:a-server@1.0.0", installed_at="2026-01-01T00:00:00Z", digest="d")
        return Draft(Ecosystem.NPM, "a-server", "1.0.0", facts, size=7)

    made = LayerStore(tmp_path / "kept" / "hintproof" / "layers")
    with made.layer(request_of(ORDER), make):
        return made


@pytest.fixture
def process(tmp_path: Path) -> Iterator[StandIn]:
    (tmp_path / "home").mkdir()
    with StandIn(tmp_path, MODULE, HOME=str(tmp_path / "home")) as engine:
        yield engine


def ignore(_: Event) -> None:
    """Nobody listens."""


def test_a_package_that_is_there_is_told_and_held_until_the_client_is_gone(
    process: StandIn, store: LayerStore, tmp_path: Path
) -> None:
    process.send(write_order(job(), str(tmp_path / "kept"), NOTHING))

    layer = hear_of_layer(process.lines(), ignore)

    assert layer is not None
    assert (Path(layer.root) / "server.js").read_text() == "serve()"
    assert not layer.installation.fresh
    assert [each.in_use for each in store.layers()] == [True]
    process.hang_up()
    process.wait()
    assert [each.in_use for each in store.layers()] == [False]


def test_a_package_that_cannot_be_had_is_the_error_that_it_is(process: StandIn, tmp_path: Path) -> None:
    process.send(
        write_order(job(PackageOrder(Ecosystem.NPM, "no such;name")), str(tmp_path / "kept"), NOTHING)
    )

    with pytest.raises(InstallError, match="no such;name"):
        hear_of_layer(process.lines(), ignore)


def test_a_client_that_goes_away_is_not_worked_for(process: StandIn, tmp_path: Path) -> None:
    """Another run has the package's lock, so that this one would wait for long."""
    index = tmp_path / "kept" / "hintproof" / "layers" / "index"
    index.mkdir(parents=True)
    with kept.locked(index / f"{request_of(ORDER)}.lock", kept.ALONE):
        process.send(write_order(job(), str(tmp_path / "kept"), NOTHING))
        next(process.lines())
        process.hang_up()
        assert process.wait() == 130


def test_a_client_of_another_version_is_told_so(process: StandIn, tmp_path: Path) -> None:
    order = json.loads(write_order(job(), str(tmp_path), NOTHING))
    process.send(json.dumps({**order, "version": "0.0.0"}).encode() + b"\n")

    with pytest.raises(ImageMissingError, match=r"this is|holds hintproof"):
        hear_of_layer(process.lines(), ignore)


def test_the_settings_of_the_clients_machine_are_in_force(process: StandIn, tmp_path: Path) -> None:
    machine = {
        "variables": {"npm_config_registry": "https://registry.example/"},
        "files": {".config/uv/uv.toml": "offline = true\n"},
        "certificates": "-----BEGIN CERTIFICATE-----\n",
    }
    process.send(
        write_order(job(PackageOrder(Ecosystem.NPM, "no such;name")), str(tmp_path / "kept"), machine)
    )
    with pytest.raises(InstallError):
        hear_of_layer(process.lines(), ignore)

    home = tmp_path / "home"
    assert (home / ".config/uv/uv.toml").read_text() == "offline = true\n"
    assert (home / "certificates.pem").read_text() == "-----BEGIN CERTIFICATE-----\n"


def test_settings_are_those_of_registries_and_of_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("registry=https://registry.example/\n")
    (tmp_path / ".netrc").write_text("machine x login y password z\n")
    (tmp_path / "pip.conf").write_text("[global]\n")
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    told = settings(
        {
            "HOME": str(tmp_path),
            "HTTPS_PROXY": "http://proxy.example:3128",
            "no_proxy": "localhost",
            "UV_DEFAULT_INDEX": "https://index.example/simple",
            "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
            "SSL_CERT_FILE": str(tmp_path / "ca.pem"),
            "AWS_SECRET_ACCESS_KEY": "secret",
            "NPM_TOKEN": "secret",
        }
    )

    assert told == {
        "variables": {
            "HTTPS_PROXY": "http://proxy.example:3128",
            "no_proxy": "localhost",
            "UV_DEFAULT_INDEX": "https://index.example/simple",
        },
        "files": {
            ".npmrc": "registry=https://registry.example/\n",
            ".config/pip/pip.conf": "[global]\n",
        },
        "certificates": "-----BEGIN CERTIFICATE-----\n",
    }


def test_only_the_installing_container_has_a_network_and_writes_to_the_volume() -> None:
    view = View((Bind("/work", "/work"),), ("/empty",))
    installing = install_spec("image", RUNG, view, "layers-of-a-user")
    verifying = container_spec("image", RUNG, Sight(job(), view), cpus=2)

    assert (installing.network, verifying.network) == (True, False)
    (volume,) = (mount for mount in installing.mounts if mount.is_volume)
    assert (volume.source, volume.target, volume.read_only) == ("layers-of-a-user", LAYERS, False)
    assert all(mount.read_only for mount in (*verifying.mounts, *installing.mounts) if not mount.is_volume)
    assert installing.folders == ("/empty",)


@pytest.mark.parametrize(
    "line",
    [
        {"layer": {}},
        {"layer": {"key": 3}},
        {"layer": None},
        {"answer": {}},
        {"unpacked": "{}"},
        {"send": True},
        {"file": "report.json", "data": "", "more": False},
    ],
)
def test_what_an_installing_process_of_ours_never_tells_is_a_fault(line: dict[str, object]) -> None:
    with pytest.raises(StreamError):
        hear_of_layer([json.dumps(line).encode()], ignore)


def test_an_end_before_the_package_is_told_apart() -> None:
    assert hear_of_layer([], ignore) is None
