"""The observer of a real box, against a server that hides from those who look."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sandbox.boxes import BoxPlan, Exposure, Launcher

_HIDING_SERVER = """
import ctypes, os, shutil, subprocess, threading
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
folder = os.open("/tmp", os.O_PATH)
file = os.open("/tmp/file", os.O_WRONLY | os.O_CREAT)

def hide():
    os.mkdir("below", dir_fd=folder)
    os.fchmod(file, 0o600)

thread = threading.Thread(target=hide)
thread.start()
thread.join()
shutil.copy("/bin/mkdir", "/tmp/unreadable")
os.chmod("/tmp/unreadable", 0o111)
subprocess.run(["/tmp/unreadable", "/tmp/made"], check=True)
print("done", flush=True)
"""


def test_a_server_that_makes_itself_unreadable_is_read_all_the_same() -> None:
    python = os.path.realpath(sys.executable)
    plan = BoxPlan((python, "-c", _HIDING_SERVER), exposures=(Exposure(sys.base_prefix),))
    with Launcher.start() as launcher:
        box = launcher.launch(plan, None)
        try:
            answer = os.read(box.stdout, 100)
            events = box.events.read_new()
            problems = box.stderr_tail()
        finally:
            box.close()
    assert answer == b"done\n", problems
    told = {(event.name, event.path, Path(event.executable).name) for event in events}
    name = Path(python).name
    assert ("mkdirat", "/tmp/below", name) in told
    assert ("fchmod", "/tmp/file", name) in told
    assert ("execve", "/tmp/unreadable", name) in told
    assert ("mkdir", "/tmp/made", "unreadable") in told
    assert ("/tmp/unreadable", "/tmp/made") in {event.argv for event in events}
    assert len({event.pid for event in events}) == 2
