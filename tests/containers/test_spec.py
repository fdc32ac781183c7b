"""What Docker is asked for, by caller and machine."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sandbox.containers.connection import Facts
from sandbox.containers.spec import ContainerSpec, Mount, request, rungs
from sandbox.linux import powers

FACTS = Facts("28.0", frozenset({"seccomp"}), same_kernel=True, memory_mb=8000, cpus=4)


def asked(facts: Facts = FACTS, at: int = 0, **spec: object) -> dict[str, object]:
    made = ContainerSpec("image", ("engine", "-v"), rungs(facts)[at], **spec)  # type: ignore[arg-type]
    return request(made, facts, {"hintproof.owner.pid": "7"})


def host(facts: Facts = FACTS, at: int = 0, **spec: object) -> dict[str, object]:
    configuration = asked(facts, at, **spec)["host_config"]
    assert isinstance(configuration, dict)
    return configuration


@pytest.mark.parametrize("at", [0, 1, 2])
def test_no_rung_is_privileged_or_on_a_network_or_without_seccomp(at: int) -> None:
    configuration = host(at=at, mounts=(Mount("/src", "/src"),))
    assert not configuration.get("Privileged")
    assert configuration["NetworkMode"] == "none"
    assert configuration["CapDrop"] == ["ALL"]
    assert configuration["ReadonlyRootfs"] is True
    assert "PidMode" not in configuration
    assert "IpcMode" not in configuration
    assert not configuration.get("Devices")
    options = configuration["SecurityOpt"]
    assert isinstance(options, list)
    assert "no-new-privileges:true" in options
    (profile,) = (option.removeprefix("seccomp=") for option in options if option.startswith("seccomp="))
    assert json.loads(profile)["syscalls"]
    assert "docker.sock" not in json.dumps(asked(at=at))


def test_an_ordinary_caller_is_himself_and_has_no_capability(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    monkeypatch.setattr("os.getegid", lambda: 5678)
    assert asked()["user"] == "1234:5678"
    assert host()["CapAdd"] == []


def test_root_has_three_capabilities_and_none_over_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert asked()["user"] == "0:0"
    assert host()["CapAdd"] == ["SETFCAP", "SETGID", "SETUID"]


def test_in_a_rootless_engine_the_caller_is_its_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    assert asked(replace(FACTS, security=FACTS.security | {"rootless"}))["user"] == "0:0"


def test_on_a_machine_of_its_own_docker_uses_the_images_user() -> None:
    assert asked(replace(FACTS, same_kernel=False))["user"] is None


def test_each_rung_allows_more_than_the_one_above() -> None:
    capabilities = [set(rung.capabilities) for rung in rungs(FACTS)]
    assert "SYS_ADMIN" not in capabilities[0]
    assert "SYS_ADMIN" in capabilities[1]
    assert len(capabilities[0]) < len(capabilities[1]) < len(capabilities[2])


def test_each_rung_has_what_the_engines_own_rungs_need() -> None:
    assert set(rungs(FACTS)[1].capabilities) == {*powers.TO_MAP, "SYS_ADMIN"}
    assert set(rungs(FACTS)[2].capabilities) == set(powers.TO_DO_WITHOUT)


@pytest.mark.parametrize(
    ("module", "option"), [("apparmor", "apparmor=unconfined"), ("selinux", "label=disable")]
)
def test_a_security_module_is_named_only_where_there_is_one(module: str, option: str) -> None:
    assert option not in json.dumps(host())
    assert option in json.dumps(host(replace(FACTS, security=FACTS.security | {module})))


def test_ids_mean_the_same_where_docker_maps_them() -> None:
    assert "UsernsMode" not in host()
    assert host(replace(FACTS, security=FACTS.security | {"userns"}))["UsernsMode"] == "host"


def test_mounts_and_limits_are_passed_on() -> None:
    configuration = host(
        mounts=(Mount("/a b:c", "/d,e"), Mount("cache", "/cache", read_only=False, is_volume=True)),
        memory_mb=100,
        cpus=1.5,
        pids=50,
    )
    assert configuration["Mounts"] == [
        {"Type": "bind", "Source": "/a b:c", "Target": "/d,e", "ReadOnly": True},
        {"Type": "volume", "Source": "cache", "Target": "/cache", "ReadOnly": False},
    ]
    assert configuration["Memory"] == configuration["MemorySwap"] == 100 << 20
    assert configuration["NanoCpus"] == 1_500_000_000
    assert configuration["PidsLimit"] == 50


def test_a_caller_cannot_pass_for_another_owner() -> None:
    assert asked(labels={"hintproof.owner.pid": "1", "mine": "x"})["labels"] == {
        "hintproof.owner.pid": "7",
        "mine": "x",
    }
