"""Packages of PyPI, from an index on loopback to a layer and a Launch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from loopregistry import PYTHON_SERVER, Registry

from sandbox.errors import InstallError
from sandbox.provision.provide import provided
from sandbox.targets.layers import Layer
from sandbox.targets.orders import Ecosystem, PackageOrder
from sandbox.targets.packages import package_launch

DAY = "2025-03-01T00:00:00Z"


def order(version: str = "", **more: object) -> PackageOrder:
    return PackageOrder(Ecosystem.PYPI, "small-server", version, **more)  # type: ignore[arg-type]


def publish(registry: Registry, version: str = "1.0", **more: object) -> None:
    files = {"small_server.py": PYTHON_SERVER}
    given = {"uploaded": DAY, "scripts": "small-server = small_server:main", **more}
    registry.pypi("small-server", version, files, **given)  # type: ignore[arg-type]


def complains(layer: Layer) -> str:
    """A server that does not start on the helper's second version, as a box would tell it."""
    return "  ImportError: gone" if "helper==2.0" in layer.installation.packages else ""


def test_a_package_is_installed_once_and_launched_from_its_layer(
    registry: Registry, environ: Mapping[str, str], tmp_path: Path
) -> None:
    publish(registry)

    with provided(order(), environ=environ) as layer:
        assert layer.installation.package == "pypi:small-server==1.0"
        assert layer.installation.packages == ("small-server==1.0",)
        assert layer.installation.effects == ()
        assert layer.installation.before == ""
        launch = package_launch(order(), layer, command=("pypi:small-server",), cwd=tmp_path, environ=environ)
        assert launch.argv == ("/srv/server/bin/small-server",)
        assert os.path.exists(Path(layer.root, "bin/python"))
    asked = len(registry.asked)
    with provided(order("1.0"), environ=environ) as again:
        assert (again.key, again.installation.fresh) == (layer.key, False)
    assert len(registry.asked) == asked


def test_a_server_that_breaks_on_new_dependencies_gets_the_newest_that_it_starts_on(
    registry: Registry, environ: Mapping[str, str]
) -> None:
    server = PYTHON_SERVER.replace("import json, sys", "import json, sys\nfrom helper import old_name")
    registry.pypi(
        "small-server",
        "1.0",
        {"small_server.py": server},
        uploaded=DAY,
        scripts="small-server = small_server:main",
        requires=("helper",),
    )
    registry.pypi("helper", "1.0", {"helper.py": "old_name = 1\n"}, uploaded="2025-02-01T00:00:00Z")
    registry.pypi("helper", "1.5", {"helper.py": "old_name = 15\n"}, uploaded="2026-01-01T00:00:00Z")
    registry.pypi("helper", "2.0", {"helper.py": "new_name = 2\n"}, uploaded="2026-05-01T00:00:00Z")

    with provided(order(), environ=environ, starts=complains) as layer:
        assert layer.installation.packages == ("helper==1.5", "small-server==1.0")
        assert "2026-04-23" <= layer.installation.before <= "2026-05-01"


def test_a_server_that_starts_nowhere_keeps_the_newest(
    registry: Registry, environ: Mapping[str, str]
) -> None:
    server = "from helper import never_there\n\ndef main(): ...\n"
    registry.pypi(
        "small-server", "1.0", {"small_server.py": server}, uploaded=DAY, scripts="small-server = small_server:main",
        requires=("helper",),
    )  # fmt: skip
    registry.pypi("helper", "1.0", {"helper.py": ""}, uploaded="2025-02-01T00:00:00Z")
    registry.pypi("helper", "2.0", {"helper.py": ""}, uploaded="2026-05-01T00:00:00Z")

    with provided(order(), environ=environ, starts=complains) as layer:
        assert layer.installation.packages == ("helper==2.0", "small-server==1.0")
        assert "nor on older ones" in " ".join(layer.installation.notes)


def test_pins_are_installed_beside_it(registry: Registry, environ: Mapping[str, str]) -> None:
    publish(registry, requires=("helper",))
    registry.pypi("helper", "1.0", {"helper.py": ""}, uploaded=DAY)
    registry.pypi("helper", "2.0", {"helper.py": ""}, uploaded=DAY)

    with provided(order(pins=("helper<2",)), environ=environ) as layer:
        assert layer.installation.packages == ("helper==1.0", "small-server==1.0")
    with provided(order(), environ=environ) as other:
        assert other.installation.packages == ("helper==2.0", "small-server==1.0")


def test_a_version_for_another_python_says_so(registry: Registry, environ: Mapping[str, str]) -> None:
    publish(registry, python=">=3.99")

    with (
        pytest.raises(InstallError, match=r"asks for Python >=3\.99"),
        provided(order("1.0"), environ=environ),
    ):
        pass


def test_the_newest_that_runs_on_a_python_of_this_machine_is_taken(
    registry: Registry, environ: Mapping[str, str]
) -> None:
    publish(registry)
    publish(registry, "2.0", python=">=3.99", uploaded="2026-01-01T00:00:00Z")

    with provided(order(), environ=environ) as layer:
        assert layer.version == "1.0"
        assert "3.99" in " ".join(layer.installation.notes)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (order("9.9"), "9.9"),
        (order(pins=("--index-url=http://evil.example",)), "write NAME==VERSION"),
        (order("1.0 @ file:///etc"), "no version"),
        (PackageOrder(Ecosystem.PYPI, "-e."), "no package of an index"),
    ],
)
def test_what_cannot_be_installed_is_an_error_that_says_why(
    registry: Registry, environ: Mapping[str, str], asked: PackageOrder, said: str
) -> None:
    publish(registry)

    with pytest.raises(InstallError, match=said), provided(asked, environ=environ):
        pass


def test_an_index_in_a_folder_of_this_machine(
    registry: Registry, environ: Mapping[str, str], tmp_path: Path
) -> None:
    publish(registry)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    publish(registry, "3.0")
    name = "small_server-3.0-py3-none-any.whl"
    (wheels / name).write_bytes(registry.find(f"/files/{name}")[1])
    registry.withdraw("small-server", name)

    with provided(order(), environ={**environ, "PIP_FIND_LINKS": str(wheels)}) as layer:
        assert layer.version == "3.0"
