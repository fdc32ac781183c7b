"""``hintproof verify npm:NAME`` as a user types it: once with the registry, then without any network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loopregistry import NPM_SERVER, Registry
from test_npm_packages import SCRIPT


def verify(environ: Mapping[str, str], cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox", "verify", "--host", "local", *words],
        cwd=cwd,
        env=dict(environ),
        capture_output=True,
        text=True,
        check=False,
    )


def verdicts(report: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (finding["tool"], finding["hint"]): finding["verdict"]
        for tool in report["tools"]
        for finding in tool["findings"]
    }


def test_an_install_script_is_reported_by_every_run_and_installed_by_the_first(
    registry: Registry, environ: Mapping[str, str], tmp_path: Path
) -> None:
    registry.npm(
        "@corp/small-server",
        "1.2.0",
        {"index.js": NPM_SERVER, "install.js": SCRIPT},
        bin={"small-server": "index.js"},
        scripts={"postinstall": "node install.js"},
    )

    first = verify(environ, tmp_path, "--json", "npm:@corp/small-server")
    registry.close()
    second = verify(environ, tmp_path, "npm:@corp/small-server")

    assert first.returncode == 0, first.stderr
    report = json.loads(first.stdout)
    assert report["installation"]["fresh"] is True
    effects = {(effect["kind"], effect["subject"]) for effect in report["installation"]["effects"]}
    assert ("file.created", "/home/user/.profile") in effects
    assert any(kind == "net.lookup" and "collector.example" in subject for kind, subject in effects)
    assert verdicts(report)["greet", "readOnlyHint"] == "consistent"

    assert second.returncode == 0, second.stderr
    assert "installing" not in second.stderr
    said = " ".join(second.stdout.split())
    assert "npm:@corp/small-server@1.2.0" in said
    assert "/home/user/.profile" in said
    assert "its installation tried to reach the network" in said
    assert "collector.example" in said
