"""Runs a command where something is missing: ``in_a_bare_place.py full DIR COMMAND...`` or ``... walled -
COMMAND...``.

``full``: DIR is a file system of 16 KiB. ``walled``: no power and no user namespaces, so that there can be no
sandbox.
"""

import os
import sys

from sandbox.linux import syscalls

place, folder, *command = sys.argv[1:]
user, group = os.geteuid(), os.getegid()


def map_to(inside_user: int, inside_group: int) -> None:
    syscalls.write_setting("/proc/self/setgroups", "deny")
    syscalls.write_setting("/proc/self/gid_map", f"{inside_group} {group} 1")
    syscalls.write_setting("/proc/self/uid_map", f"{inside_user} {user} 1")


if place == "full":
    if user == 0:
        syscalls.unshare(syscalls.CLONE_NEWNS)
    else:
        syscalls.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
        map_to(user, group)
    syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("small", folder, "tmpfs", data="size=16k")
else:
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    map_to(60_000, 60_000)
    # Whatever is executed next has no capability: its user is not root.
    syscalls.write_setting("/proc/sys/user/max_user_namespaces", "0")
os.execv(command[0], command)
