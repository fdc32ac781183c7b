"""The process that installs a package for boxes in containers: ``python -m sandbox.hosts.provisioning``.

It runs in a container of its own, with a network and the volume of layers, and holds the layer's lock there until
its standard input ends: as long as another container, without a network, runs boxes on it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sandbox.errors import ExitCode
from sandbox.hosts import local
from sandbox.hosts.inside import at_home
from sandbox.hosts.pipes import first_line, take_over, until_it_ends, write
from sandbox.hosts.stream import Teller, read_job
from sandbox.linux.powers import settle


def main() -> int:
    """Install one package, unless it is installed already, and keep it there."""
    settle()  # before there is a second thread
    orders, answers = take_over()
    teller = Teller(partial(write, answers))
    with teller.telling(_leave):
        _keep(first_line(orders), orders, teller)
    return ExitCode.OK


def _keep(line: bytes, orders: int, teller: Teller) -> None:
    job = at_home(read_job(line))
    if job.package is None:
        raise ValueError("the job names no package")
    order = json.loads(line)
    _take_over_settings(order["settings"])
    os.environ["XDG_CACHE_HOME"] = str(order["folder"])
    watch = threading.Thread(target=until_it_ends, args=(orders, _leave), daemon=True)
    watch.start()
    with local.installed(job, job.package, teller.event) as layer:
        teller.layer(layer)
        watch.join()


def _take_over_settings(machine: Mapping[str, Any]) -> None:
    """Install from where the user's own machine installs, trusting whom it trusts."""
    os.environ.update(machine["variables"])
    home = Path(os.environ["HOME"])
    files = dict(machine["files"])
    if machine["certificates"]:
        files["certificates.pem"] = machine["certificates"]
        os.environ["SSL_CERT_FILE"] = str(home / "certificates.pem")
        os.environ.pop("NODE_EXTRA_CA_CERTS", None)
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")


def _leave() -> None:
    """End at once; what is not installed whole goes with the next package."""
    os._exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
