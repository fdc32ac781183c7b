"""Asks package indexes for one project; run in the box of an installation: ``python indexpage.py URLS NAME VERSION``.

Standard library only and alone in the box. It prints one line of JSON: the hosts of the project's files, and of the
newest release (and of VERSION, where one is named) when it was uploaded and which Python it asks for.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_PAGE_MOST = 64 << 20
_PRERELEASE = re.compile(r"\d(a|b|c|rc|alpha|beta|dev|pre)|\.dev|[-_](a|b|rc|alpha|beta|dev)", re.IGNORECASE)


class Links(HTMLParser):
    """The files of an index page in HTML (PEP 503)."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[dict[str, object]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take one link."""
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            url = given["href"] or ""
            self.files.append(
                {
                    "filename": unquote(urlsplit(url).path.rpartition("/")[2]),
                    "url": url,
                    "requires-python": given.get("data-requires-python"),
                    "yanked": "data-yanked" in given,
                }
            )


def files_of(page: bytes, kind: str) -> list[dict[str, object]]:
    """The files that an index page lists."""
    if "json" in kind:
        return list(json.loads(page)["files"])
    links = Links()
    links.feed(page.decode("utf-8", "replace"))
    return links.files


def version_of(filename: str, name: str) -> str:
    """The version in the name of a wheel or a source archive."""
    if filename.endswith(".whl"):
        return filename.split("-")[1] if filename.count("-") >= 4 else ""
    stem = re.sub(r"\.(tar\.\w+|tgz|zip)$", "", filename)
    length = len(name)
    plain = re.sub(r"[-_.]+", "-", stem).lower()
    return stem[length + 1 :] if plain.startswith(name + "-") else ""


def release(files: list[dict[str, object]]) -> dict[str, str]:
    """When the first of a release's files was uploaded, and which Python it asks for."""
    times = sorted(str(file["upload-time"]) for file in files if file.get("upload-time"))
    wanted = [str(file["requires-python"]) for file in files if file.get("requires-python")]
    return {"uploaded": times[0] if times else "", "python": wanted[0] if wanted else ""}


def main() -> int:
    """Ask each index; the first that has the project tells of its releases."""
    urls, name, asked = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
    hosts: dict[str, bool] = {}
    releases: dict[str, list[dict[str, object]]] = {}
    failures = []
    for url in urls:
        page_url = f"{url.rstrip('/')}/{name}/"
        try:
            request = urllib.request.Request(page_url, headers={"Accept": _ACCEPT})
            with urllib.request.urlopen(request, timeout=60) as answer:
                page, kind, at = answer.read(_PAGE_MOST), answer.headers.get("Content-Type", ""), answer.url
            found = files_of(page, kind)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next index is asked
            failures.append(f"{page_url}: {error}")
            continue
        for file in found:
            hosts["/".join(urljoin(at, str(file["url"])).split("/")[:3])] = True
            version = version_of(str(file["filename"]), name)
            if version:
                releases.setdefault(version, []).append(file)
    if not hosts:
        sys.stderr.write("\n".join(failures or ["no index has it"]) + "\n")
    known = {version: release(files) for version, files in releases.items()}
    usable = [
        version
        for version, files in releases.items()
        if not _PRERELEASE.search(version) and not all(file.get("yanked") for file in files)
    ]
    newest = max(usable, key=lambda version: known[version]["uploaded"], default="")
    told = {
        "hosts": list(hosts)[:50],
        "newest": {"version": newest, **known.get(newest, {})},
        "asked": known.get(asked, {}),
        "failures": failures[:5],
    }
    sys.stdout.write(json.dumps(told) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
