"""A small machine made of empty files: a home, a PATH, interpreters that are never run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.targets.launch import Launch
from sandbox.targets.resolve import resolve

ELF = b"\x7fELF not really"


@dataclass
class Machine:
    """Everything lies below ``root``; ``environ`` is what a shell there would have."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def environ(self) -> Mapping[str, str]:
        return {"HOME": str(self.home), "PATH": f"{self.root / 'opt' / 'bin'}", **self.variables}

    def file(self, path: str | Path, content: str | bytes = "", mode: int = 0o644) -> Path:
        """Write a file below the root and return its path."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)
        return target

    def program(self, path: str | Path, content: str | bytes = ELF) -> Path:
        """A file that can be executed, a binary unless a text is given."""
        return self.file(path, content, 0o755)

    def link(self, path: str | Path, target: str | Path) -> Path:
        """A symbolic link below the root."""
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        return link

    def python(self, prefix: str | Path, version: str = "3.12") -> Path:
        """An installed interpreter; returns the program ``python3``."""
        self.file(Path(prefix, "lib", f"python{version}", "os.py"))
        self.program(Path(prefix, "bin", f"python{version}"))
        self.link(Path(prefix, "bin", "python"), f"python{version}")
        return self.link(Path(prefix, "bin", "python3"), f"python{version}")

    def venv(self, path: str | Path, base: Path, version: str = "3.12") -> Path:
        """A virtual environment of an interpreter; returns its site-packages."""
        self.file(Path(path, "pyvenv.cfg"), f"home = {base.parent}\nversion = {version}.1\n")
        self.link(Path(path, "bin", "python"), base)
        site = self.root / path / "lib" / f"python{version}" / "site-packages"
        site.mkdir(parents=True)
        return site

    def distribution(self, site: Path, name: str, version: str, program: str = "") -> None:
        """An installed distribution, with a console script if asked for."""
        self.file(site / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA")
        self.file(site / name.replace("-", "_") / "__init__.py")
        if program:
            bins = site.parents[2] / "bin"
            self.program(bins / program, f"#!{bins / 'python'}\nimport {name.replace('-', '_')}\n")

    def package(self, path: str | Path, name: str, version: str = "1.0.0", bins: object = None) -> Path:
        """An npm package with one script, ``dist/index.js``."""
        manifest = {
            "name": name,
            "version": version,
            "bin": bins or {name.rpartition("/")[2]: "dist/index.js"},
        }
        self.file(Path(path, "package.json"), json.dumps(manifest))
        return self.program(Path(path, "dist", "index.js"), "#!/usr/bin/env node\n")

    def node(self) -> Path:
        """A node in PATH."""
        return self.program("opt/bin/node")

    def resolve(
        self,
        *command: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        expose: Sequence[Path] = (),
        workspace: Path | None = None,
    ) -> Launch:
        """Resolve a command as typed in the project's folder, or in ``cwd``."""
        return resolve(
            command,
            cwd=cwd or self.project,
            env=env,
            expose=expose,
            workspace=workspace,
            environ=self.environ,
        )
