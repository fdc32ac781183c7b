"""What the contract's server finds: a workspace, a folder that is shown, and a host that must stay out of its reach."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from sandbox.workspace.canaries import plant_canaries
from sandbox.world.handle import ENVIRONMENT

MARKER = "a-secret-of-the-host"
_ORDINARY = "TERM NO_COLOR PYTHONDONTWRITEBYTECODE TZ LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME".split()
"""What a server's environment may hold beside what is its own."""

_OLD = 1_700_000_000
_GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


@dataclass(frozen=True)
class Ground:
    """``visits`` are the addresses from which the host's own service was reached."""

    server: Path
    workspace: Path
    shown: Path
    before: dict[str, bytes] = field(default_factory=dict)
    visits: list[str] = field(default_factory=list)

    def changes(self) -> list[str]:
        """What differs from what was made here."""
        now = self._files()
        return sorted(
            path for path in now.keys() | self.before.keys() if now.get(path) != self.before.get(path)
        )

    def remember(self) -> None:
        """Take what stands here for what was made."""
        self.before.update(self._files())

    def _files(self) -> dict[str, bytes]:
        paths = [*self.server.parent.rglob("*"), *self.workspace.rglob("*"), *self.shown.rglob("*")]
        return {str(path): path.read_bytes() if path.is_file() else b"" for path in paths}


@contextmanager
def ground() -> Iterator[Ground]:
    """Make all of it; gone at the end."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hintproof-contract-")))
        folder.chmod(0o755)
        made = Ground(_code(folder / "code"), folder / "workspace", folder / "shown")
        made.workspace.mkdir()
        _files(made.workspace)
        _records(made.workspace)
        _repository(made.workspace / "repository")
        _shown(made.shown)
        (made.workspace / "shown.txt").write_text(str(made.shown))
        facts = _host(folder / "hidden", made.visits, stack)
        (made.workspace / "host.json").write_text(json.dumps(facts))
        for path in [made.workspace, *made.workspace.rglob("*")]:
            os.utime(path, (_OLD, _OLD), follow_symlinks=False)
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("HOST_SECRET", MARKER)
        made.remember()
        yield made


def _code(folder: Path) -> Path:
    """Put the server together: the code of one that stands in a repository is all of the repository."""
    here = Path(__file__).parent
    shutil.copytree(here / "deeds", folder / "deeds", ignore=shutil.ignore_patterns("__pycache__"))
    for source in (here / "server.py", here.parent / "servers/base.py", here.parent / "boxes/hostile.py"):
        shutil.copy(source, folder)
    return folder / "server.py"


def _files(root: Path) -> None:
    texts = {
        "notes.txt": "one\ntwo\n",
        "bee.txt": "bee\n",
        "linked": "linked\n",
        "marked": "marked\n",
        "locked": "locked\n",
        "tree/x": "x",
        "tree/deep/y": "yy",
        "pair/p": "pp",
        "pair/q": "qq",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "hollow").mkdir()
    (root / "link").symlink_to("notes.txt")


def _records(root: Path) -> None:
    with closing(sqlite3.connect(root / "shop.db")) as shop, shop:
        shop.execute("CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT, price INTEGER)")
        shop.execute("INSERT INTO goods (name, price) VALUES ('apple', 1), ('plum', 2), ('fig', 3)")
        shop.execute("CREATE TABLE visits (id INTEGER PRIMARY KEY, page TEXT)")
        shop.execute("INSERT INTO visits (page) VALUES ('home')")
    users = [{"id": 1, "name": "ada"}, {"id": 2, "name": "bob"}]
    (root / "users.json").write_text(json.dumps(users))
    lines = [{"at": 1, "what": "begun"}, {"at": 2, "what": "gone on"}]
    (root / "log.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _repository(root: Path) -> None:
    root.mkdir()
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*words: str) -> None:
        subprocess.run([*_GIT, *words], cwd=root, env=environment, check=True)

    git("init", "--quiet", "--template=")
    for number in (1, 2):
        (root / "first.txt").write_text(f"first, {number}\n")
        git("add", "first.txt")
        git("commit", "--quiet", "-m", f"Step {number}")
    git("branch", "old")


def _shown(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    for name in ("old.txt", "doomed.txt"):
        (folder / name).write_text("of the host\n")
        (folder / name).chmod(0o666)


def _host(hidden: Path, visits: list[str], stack: ExitStack) -> dict[str, object]:
    """Put up what must stay out of reach; the server is told where each of it is."""
    hidden.mkdir()
    hidden.chmod(0o777)
    for name in ("secret", "key"):
        (hidden / name).write_text(MARKER)
    abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
    abstract.bind(f"\0{hidden}")
    abstract.listen()
    named = stack.enter_context(socket.socket(socket.AF_UNIX))
    named.bind(str(hidden / "socket"))
    named.listen()
    victim = stack.enter_context(subprocess.Popen(["sleep", "3600"]))
    stack.callback(victim.kill)
    service = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
    threading.Thread(target=_serve, args=(service, visits), daemon=True).start()
    stack.callback(service.shutdown, socket.SHUT_RDWR)
    addresses = _own_addresses()
    return {
        "secret": str(hidden / "secret"),
        "key": str(hidden / "key"),
        "hidden": [str(hidden), str(Path(__file__).parent)],
        "victim": victim.pid,
        "abstract": abstract.getsockname()[1:].decode(),
        "socket": str(hidden / "socket"),
        "port": service.getsockname()[1],
        "address": addresses[0],
        "addresses": addresses,
        "marker": MARKER,
        "user": 1000,
        "environment": [*_ORDINARY, *ENVIRONMENT, *plant_canaries("/").environment, "CONTRACT_TOKEN"],
    }


def _serve(service: socket.socket, visits: list[str]) -> None:
    while True:
        try:
            client, address = service.accept()
        except OSError:  # shut down
            return
        with client:
            visits.append(str(address))
            client.sendall(MARKER.encode())


def _own_addresses() -> list[str]:
    """The machine's IPv4 addresses, loopback last."""
    found = {
        each.address
        for card in psutil.net_if_addrs().values()
        for each in card
        if each.family == socket.AF_INET
    }
    return sorted(found, key=lambda address: (address.startswith("127."), address))
