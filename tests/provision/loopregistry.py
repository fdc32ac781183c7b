"""Registries of a test's own on loopback: of npm with packages made here, and an index of wheels."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE_TYPE = "application/vnd.pypi.simple.v1+json"

NPM_SERVER = """#!/usr/bin/env node
const answer = (id, result) => process.stdout.write(JSON.stringify({jsonrpc: '2.0', id, result}) + '\\n');
require('readline').createInterface({input: process.stdin}).on('line', (line) => {
  const {id, method} = JSON.parse(line);
  if (method === 'initialize') answer(id, {protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: {name: 'small', version: '1'}});
  if (method === 'tools/list') answer(id, {tools: [{name: 'greet', inputSchema: {type: 'object'}, annotations: {readOnlyHint: true}}]});
  if (method === 'tools/call') answer(id, {content: [{type: 'text', text: 'hello'}]});
});
"""
"""A server of one tool that needs no package."""

PYTHON_SERVER = """
import json, sys

def main():
    for line in sys.stdin:
        message = json.loads(line)
        results = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "small", "version": "1"}},
            "tools/list": {"tools": [{"name": "greet", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]},
            "tools/call": {"content": [{"type": "text", "text": "hello"}]},
        }
        if message.get("method") in results:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}), flush=True)
"""
"""The same for Python."""


class Registry:
    """A registry that serves what is put into it; ``asked`` are the paths that were asked for. Close it."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, bytes]] = {}
        self._packuments: dict[str, dict[str, object]] = {}
        self._pages: dict[str, list[dict[str, object]]] = {}
        self.asked: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                registry.asked.append(self.path)
                kind, body = registry.find(self.path)
                self.send_response(200 if kind else 404)
                self.send_header("Content-Type", kind or "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Serve nothing any more."""
        self._server.shutdown()
        self._server.server_close()

    def find(self, path: str) -> tuple[str, bytes]:
        """What is at a path: its type and content, both empty for nothing."""
        if path in self._files:
            return self._files[path]
        parts = path.strip("/").split("/")
        if parts[0] == "simple" and len(parts) == 2 and parts[1] in self._pages:
            page = {"meta": {"api-version": "1.1"}, "name": parts[1], "files": self._pages[parts[1]]}
            return PAGE_TYPE, json.dumps(page).encode()
        name = path.strip("/").replace("%2f", "/").replace("%2F", "/")
        if name in self._packuments:
            return "application/json", json.dumps(self._packuments[name]).encode()
        return "", b"{}"

    def npm(self, name: str, version: str, files: Mapping[str, str], **facts: object) -> None:
        """Publish a package of npm; ``facts`` go into its package.json."""
        manifest = {"name": name, "version": version, **facts}
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as archive:
            for path, text in {"package.json": json.dumps(manifest), **files}.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size, entry.mode = len(text.encode()), 0o755
                archive.addfile(entry, io.BytesIO(text.encode()))
        content = made.getvalue()
        path = f"/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        self._files[path] = ("application/octet-stream", content)
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
        told = {**manifest, "dist": {"tarball": self.url + path, "integrity": integrity}}
        if "install" in str(facts.get("scripts", "")):
            told["hasInstallScript"] = True
        packument = self._packuments.setdefault(name, {"name": name, "versions": {}, "dist-tags": {}})
        packument["versions"][version] = told  # type: ignore[index]
        packument["dist-tags"]["latest"] = version  # type: ignore[index]

    def pypi(
        self,
        name: str,
        version: str,
        files: Mapping[str, str],
        *,
        uploaded: str,
        scripts: str = "",
        requires: tuple[str, ...] = (),
        python: str = ">=3.8",
    ) -> None:
        """Publish a wheel. ``scripts`` are lines of console_scripts, ``uploaded`` a time (ISO 8601)."""
        plain = name.replace("-", "_")
        info = f"{plain}-{version}.dist-info"
        metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: {python}"]
        metadata += [f"Requires-Dist: {each}" for each in requires]
        contents = {
            **files,
            f"{info}/METADATA": "\n".join(metadata) + "\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/entry_points.txt": f"[console_scripts]\n{scripts}\n" if scripts else "",
        }
        contents[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*contents, f"{info}/RECORD"))
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for path, text in contents.items():
                archive.writestr(path, text)
        content = made.getvalue()
        filename = f"{plain}-{version}-py3-none-any.whl"
        self._files[f"/files/{filename}"] = ("application/octet-stream", content)
        self._pages.setdefault(name, []).append(
            {
                "filename": filename,
                "url": f"../../files/{filename}",
                "hashes": {"sha256": hashlib.sha256(content).hexdigest()},
                "requires-python": python,
                "upload-time": uploaded,
                "size": len(content),
            }
        )

    def withdraw(self, name: str, filename: str) -> None:
        """Take a file off an index again."""
        self._pages[name] = [file for file in self._pages[name] if file["filename"] != filename]
