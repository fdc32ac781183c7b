"""What CI needs of Docker before the image can be built, and leaving Docker as it was found.

    python .ci/ground.py base             make sure that there is a base image; its name on standard output
    python .ci/ground.py remember FILE    write down what is in Docker
    python .ci/ground.py clean FILE       remove what hintproof has put there since

The base image is the Dockerfile's own where it is here or can be pulled. Elsewhere one is made from this
machine's Debian or Ubuntu packages, which takes a minute; it stays, under a name that changes with its recipe.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from docker.errors import APIError, NotFound

from sandbox.containers.connection import Docker, connect
from sandbox.containers.context import default_base
from sandbox.errors import HintproofError

PACKAGES = "python3,python3-pip,python3-venv,ca-certificates"
OWN_CERTIFICATES = Path("/usr/local/share/ca-certificates")
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
MADE_HERE = "hintproof.base"


def base(connected: Docker) -> str:
    """The name of a base image that is here."""
    name = default_base()
    try:
        connected.client.images.get(name)
    except NotFound:
        try:
            say(f"pulling {name}")
            connected.client.images.pull(name)
        except (APIError, NotFound) as error:
            say(f"it cannot be pulled ({str(error.explanation or error).strip()})")
            return made_base(connected)
    return name


def made_base(connected: Docker) -> str:
    """A base image from this machine's packages, made unless it is there."""
    release = platform.freedesktop_os_release()
    command, changes = recipe(release)
    key = hashlib.sha256(json.dumps([command, changes, certificates()]).encode()).hexdigest()[:12]
    name = f"hintproof-base:{key}"
    if connected.client.images.list(name):
        say(f"{name} is there")
        return name
    if shutil.which(command[0]) is None:
        raise SystemExit(f"no base image can be made here: install {command[0]}")
    say(f"making {name} of {release['PRETTY_NAME']}")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as making:
        assert making.stdout is not None
        url = connected.url("/images/create")
        parameters = {
            "fromSrc": "-",
            "repo": "hintproof-base",
            "tag": key,
            "changes": [*changes, f"LABEL {MADE_HERE}={key}"],
        }
        answer = connected.client.api.post(
            url, params=parameters, data=pieces(making.stdout.read), timeout=None
        )
    if making.returncode != 0:
        connected.client.images.remove(name)
        raise SystemExit(f"mmdebstrap failed with exit code {making.returncode}")
    answer.raise_for_status()
    return name


def pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """A stream as an iterator, so that it is sent as it comes."""
    return iter(lambda: read(1 << 20), b"")


def recipe(release: dict[str, str]) -> tuple[list[str], list[str]]:
    """The command that writes the root as a tar archive, and what the image's configuration says beside it."""
    command = [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={PACKAGES}",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        # The clock of a machine for tests may be anywhere.
        '--aptopt=Acquire::Check-Valid-Until "false"',
    ]
    changes = []
    if certificates():
        # Connections are signed anew on their way out of this machine: who checks them has to know by whom.
        command += [
            f"--customize-hook=copy-in {OWN_CERTIFICATES} {OWN_CERTIFICATES.parent}",
            '--customize-hook=chroot "$1" update-ca-certificates',
        ]
        changes.append(f"ENV PIP_CERT={BUNDLE} NODE_EXTRA_CA_CERTS={BUNDLE} SSL_CERT_FILE={BUNDLE}")
    return [*command, release["VERSION_CODENAME"], "-", str(sources(release["ID"]))], changes


def sources(system: str) -> Path:
    """Where apt gets this system's own packages from, leaving out what others have added."""
    for path in (Path(f"/etc/apt/sources.list.d/{system}.sources"), Path("/etc/apt/sources.list")):
        if path.exists():
            return path
    raise SystemExit(
        "a base image can be made only on Debian and Ubuntu: pull or name one (hintproof doctor --build --base)"
    )


def certificates() -> list[str]:
    """Those that somebody has added to this machine's."""
    return sorted(path.read_text() for path in OWN_CERTIFICATES.rglob("*.crt"))


def remember(connected: Docker, path: Path) -> None:
    """Write down which containers, volumes and images there are."""
    path.write_text(json.dumps({kind: sorted(found) for kind, found in present(connected).items()}))


def clean(connected: Docker, path: Path) -> None:
    """Remove what has hintproof's labels and was not there when it was written down."""
    before = json.loads(path.read_text())
    api = connected.client.api
    remove: dict[str, Callable[[str], object]] = {
        "containers": lambda name: api.remove_container(name, force=True, v=True),
        "images": lambda name: api.remove_image(name, force=True),
        "volumes": lambda name: api.remove_volume(name, force=True),
    }
    for kind, found in present(connected).items():
        for name in sorted(found - set(before[kind])):
            try:
                remove[kind](name)
                say(f"removed of the {kind}: {name}")
            except NotFound:  # went together with another
                continue
            except APIError as error:
                say(f"{name} stays: {error.explanation}")


def present(connected: Docker) -> dict[str, set[str]]:
    """What has hintproof's labels, a base image left out: its label alone says nothing, since images inherit it."""
    api = connected.client.api
    return {
        "containers": {found["Id"] for found in api.containers(all=True) if labels(found)},
        "images": {found["Id"] for found in api.images() if labels(found) - {MADE_HERE}},
        "volumes": {found["Name"] for found in api.volumes()["Volumes"] or () if labels(found)},
    }


def labels(found: dict[str, dict[str, str] | None]) -> set[str]:
    """Hintproof's labels of one of them."""
    return {label for label in found["Labels"] or () if label.startswith("hintproof.")}


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Do what the first word says."""
    word, *rest = sys.argv[1:]
    try:
        with connect() as connected:
            if word == "base":
                sys.stdout.write(base(connected) + "\n")
            elif word == "remember":
                remember(connected, Path(rest[0]))
            else:
                clean(connected, Path(rest[0]))
    except HintproofError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
