"""What a change of a file weighs: bookkeeping of the server's own, or something that counts (design, section 2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sandbox.model import Weight

_BOOKKEEPING_FOLDERS = re.compile(
    r"/(?:__pycache__|\.npm/_logs|\.npm/_cacache|\.npm/_update-notifier-last-checked|node-compile-cache|\.node-gyp|(?:[\w.-]*[._-])?logs?"
    r"|\.pytest_cache|\.mypy_cache|\.ruff_cache|history)(?:/|$)"
)
_BOOKKEEPING_NAMES = re.compile(
    r"(?:[._-]log(?:\.\d+)?|\.pid|\.lock|\.lck|\.pyc|[._-]history|^history|\.viminfo|\.lesshst|\.wget-hsts|\.DS_Store)$"
)
_BOOKKEEPING_HOME = (".cache", ".local/state", ".npm/_logs", ".npm/_cacache")

_STARTED_LATER = re.compile(
    r"/(?:\.(?:bash|zsh|ksh|csh|tcsh|x|i3|vim|gvim|ex|tmux|screen|input|python|irb|gdb|lldb|psql|sqlite|mail|curl|wget|pam_)?"
    r"(?:rc|init|profile|login|logout|env|environment|session|startup|_profile|_login|_logout|_aliases)"
    r"|\.config/(?:autostart|systemd|fish|plasma-workspace|environment\.d|git|nvim|i3|sway|hypr)/.*"
    r"|\.local/(?:bin|share/(?:systemd|applications|dbus-1))/.*|\.ssh(?:/.*)?|\.gnupg/.*|\.gitconfig|\.netrc|\.npmrc|\.yarnrc|\.pypirc"
    r"|cron[^/]*(?:/.*)?|crontabs?/.*|bin/.*|sbin/.*|\.git/hooks/.*|autostart/.*|init\.d/.*|rc\.\w+(?:/.*)?|profile\.d/.*"
    r"|systemd/.*|site-packages/.*|dist-packages/.*|node_modules/.*|sitecustomize\.py|usercustomize\.py|[^/]*\.pth|ld\.so\.[^/]*"
    r"|\.vscode/.*|\.idea/.*|\.devcontainer/.*|\.envrc|Makefile|package\.json|conftest\.py)$"
)
"""Read or run by something else later: a change there can run code, whoever made the file."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """The places of a box that weigh in themselves: the workspace, HOME, and the canaries in it."""

    workspace: str
    home: str
    canaries: frozenset[str]

    def place(self, path: str) -> str:
        """Where a path lies: ``secret``, ``started`` (read or run by something else later), ``workspace``, or ``other``."""
        if path in self.canaries:
            return "secret"
        if _STARTED_LATER.search(path):
            return "started"
        return "workspace" if _within(path, self.workspace) else "other"

    def weigh(self, path: str, *, server_made: bool) -> Weight:
        """INCIDENTAL for the server's own bookkeeping, MATERIAL for everything else.

        ``server_made``: the file did not exist before this run's server made it.
        """
        if not server_made or self.place(path) != "other":
            return Weight.MATERIAL
        return Weight.INCIDENTAL if self._is_bookkeeping(path) else Weight.MATERIAL

    def _is_bookkeeping(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        if _BOOKKEEPING_NAMES.search(name) or _BOOKKEEPING_FOLDERS.search(path):
            return True
        return any(_within(path, f"{self.home}/{place}") for place in _BOOKKEEPING_HOME)


def _within(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))
