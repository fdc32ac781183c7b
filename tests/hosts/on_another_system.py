"""A command as on a system that is no Linux: ``on_another_system.py SYSTEM hintproof's words``.

Python itself stays that of Linux; but nothing that only Linux has can be imported, or where ``SYSTEM`` is
``win32`` that no Windows has.
"""

# What these import for their own system is Linux's, before hintproof takes this system for another.
import asyncio
import subprocess
import sys
import tempfile
import types

import click
import docker
import psutil
import rich.console

assert all((asyncio, subprocess, tempfile, click, docker, psutil, rich.console))

system, *words = sys.argv[1:]
rooms = ("linux", "boxes", "world", "client", "session", "probe", "effects", "arguments", "workspace")
missing = {f"sandbox.{room}" for room in rooms}
if system == "win32":
    missing |= {"fcntl", "pwd", "grp", "resource", "termios"}
    locks = types.ModuleType("msvcrt")
    locks.LK_NBLCK, locks.locking = 2, lambda *_: None  # type: ignore[attr-defined]
    sys.modules["msvcrt"] = locks
for name in missing:
    sys.modules[name] = None  # importing it now fails
sys.platform = system

from sandbox.cli.main import main  # noqa: E402 - after the system has changed

sys.argv = ["hintproof", *words]
main()
