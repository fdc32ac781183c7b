"""The gateway process as the engine sees it: its start, its end, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from warden import PATIENCE_S, Warden, dial

from sandbox.errors import BoxLostError
from sandbox.world import World

ENGINE = """
import sys, time
from sandbox.world import World
world = World.start()
warden, log = world.attach("box")
world.ca_pem
print(world.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def own_world() -> Iterator[World]:
    with closing(World.start()) as started:
        yield started


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """An engine process with a gateway, whose temporary files would go to ``tmp_path``."""
    with subprocess.Popen(
        [sys.executable, "-c", ENGINE],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
    ) as process:
        try:
            assert process.stdout is not None
            yield process, psutil.Process(int(process.stdout.readline()))
        finally:
            process.kill()


def gateway_of(world: World) -> psutil.Process:
    """The gateway process of a world, once it has started."""
    assert world.ca_pem
    return psutil.Process(world.pid)


def test_a_box_can_be_attached_before_the_gateway_has_started(own_world: World) -> None:
    with closing(Warden(own_world)) as box:
        with dial(box.tcp()) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a.org\r\n\r\n")
            assert client.recv(1000).endswith(b"{}")
        assert len(box.exchanges()) == 1


def test_the_gateway_ends_when_it_is_closed(own_world: World) -> None:
    gateway = gateway_of(own_world)
    assert own_world.alive

    own_world.close()

    assert not own_world.alive
    assert not gateway.is_running()


def test_the_gateway_dies_with_an_engine_that_is_killed(
    engine: tuple[subprocess.Popen[str], psutil.Process], tmp_path: Path
) -> None:
    process, gateway = engine

    process.send_signal(signal.SIGKILL)

    gateway.wait(PATIENCE_S)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_the_gateway_to_the_engine(
    engine: tuple[subprocess.Popen[str], psutil.Process],
) -> None:
    process, gateway = engine

    assert os.getpgid(gateway.pid) != os.getpgid(process.pid)


def test_the_authoritys_key_is_on_no_disk(world: World, box: Warden, trusting: ssl.SSLContext) -> None:
    with dial(box.tcp()) as client, trusting.wrap_socket(client, server_hostname="a.org"):
        gateway = gateway_of(world)

        assert gateway.open_files() == []
        assert gateway.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        assert gateway.cwd() == "/"


def test_a_box_that_ends_frees_what_it_held(own_world: World) -> None:
    gateway = gateway_of(own_world)
    before = gateway.num_fds()
    with closing(Warden(own_world)) as box:
        clients = [dial(box.tcp()) for _ in range(20)]
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a.org\r\n\r\n")
            client.recv(1000)
        assert gateway.num_fds() > before + 20
    for client in clients:
        client.close()

    deadline = time.monotonic() + PATIENCE_S
    while gateway.num_fds() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gateway.num_fds() == before


def test_a_gateway_that_was_killed_is_told(own_world: World) -> None:
    gateway_of(own_world).kill()
    deadline = time.monotonic() + PATIENCE_S
    while own_world.alive and time.monotonic() < deadline:
        time.sleep(0.01)

    assert not own_world.alive
    with pytest.raises(BoxLostError, match="gateway process is gone"):
        own_world.attach("box")


def test_a_gateway_that_never_started_is_told(own_world: World) -> None:
    psutil.Process(own_world.pid).kill()

    with pytest.raises(BoxLostError, match="gateway process is gone"):
        _ = own_world.ca_pem


def test_every_variable_points_at_the_bundle(world: World) -> None:
    assert set(world.environment.values()) == {world.bundle_path}
    assert {"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"} <= set(
        world.environment
    )


def test_every_run_has_an_authority_of_its_own(world: World, own_world: World) -> None:
    assert world.ca_pem.startswith(b"-----BEGIN CERTIFICATE-----")
    assert world.ca_pem != own_world.ca_pem


def test_the_engine_does_not_load_what_only_the_gateway_needs() -> None:
    heavy = "{'cryptography', 'h2', 'h11', 'dnslib', 'asyncio'}"
    script = f"import sys, sandbox.world; print(sorted({heavy} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_sockets_too_many_for_one_message_come_in_several(box: Warden) -> None:
    addresses = [box.tcp(f"22.1.2.{number}", 80) for number in range(1, 200)]

    with dial(addresses[-1]) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a.org\r\n\r\n")
        client.recv(1000)

    assert box.exchanges()[0].address == "22.1.2.199"


def test_a_wildcard_socket_tells_the_address_that_was_meant(box: Warden) -> None:
    host, port = box.udp("0.0.0.0", 5353)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", (host, port))

    assert box.wait_for("udp").address == "127.0.0.1"
