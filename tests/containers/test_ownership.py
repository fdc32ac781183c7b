"""Whom an image's user is, and what that user may do with each file in a box."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.containers.accounts import Account, account
from sandbox.containers.ownership import translated
from sandbox.containers.unpack import Owner
from sandbox.errors import ImageError

PASSWD = """root:x:0:0:root:/root:/bin/sh
node:x:1000:1000::/home/node:/bin/bash
nobody:x:65534:65534:nobody:/:/sbin/nologin
1001:x:2000:2000:a name of digits:/home/digits:
broken
odd:x:x:y::/:
"""
GROUP = "root:x:0:\nnode:x:1000:\nstaff:x:50:node,other\naudio:x:29:node\nbroken\n"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text(PASSWD)
    (tmp_path / "etc/group").write_text(GROUP)
    opened = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield opened
    os.close(opened)


USERS = {
    "": Account(0, 0, (), "root", "/root"),
    "0": Account(0, 0, (), "root", "/root"),
    "root": Account(0, 0, (), "root", "/root"),
    "node": Account(1000, 1000, (50, 29), "node", "/home/node"),
    "1000": Account(1000, 1000, (50, 29), "node", "/home/node"),
    "1000:0": Account(1000, 0, (), "node", "/home/node"),
    "node:staff": Account(1000, 50, (), "node", "/home/node"),
    "1001": Account(2000, 2000, (), "1001", "/home/digits"),
    "1234": Account(1234, 0),
    "1234:5678": Account(1234, 5678),
    ":staff": Account(0, 50, (), "root", "/root"),
}


@pytest.mark.parametrize("user", USERS)
def test_users_are_those_that_the_image_lists(root: int, user: str) -> None:
    assert account(root, user) == USERS[user]


def test_further_groups_are_added(root: int) -> None:
    assert account(root, "node", ["audio", "77"]).groups == (50, 29, 77)


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("ghost", "no user 'ghost'"),
        ("node:ghosts", "no group 'ghosts'"),
        ("9" * 12, "no user"),
        ("odd", "no user"),
    ],
)
def test_names_that_the_image_does_not_list_are_refused(root: int, user: str, said: str) -> None:
    with pytest.raises(ImageError, match=said):
        account(root, user)


def test_an_image_without_accounts_knows_numbers_alone(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").symlink_to("/etc/passwd")  # its own, not this machine's: a circle
    opened = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert account(opened, "") == Account()
        assert account(opened, "12:34") == Account(12, 34)
        with pytest.raises(ImageError, match="no user 'root'"):
            account(opened, "root")
    finally:
        os.close(opened)


NODE = Account(1000, 1000, (50,))
ROOT = Account()
SOMEBODY = Account(1234, 0)

MODES = [
    # user, owner, mode, folder, what it becomes
    (NODE, Owner(1000, 1000), 0o640, False, 0o640),
    (NODE, Owner(1000, 0), 0o070, False, 0o070),
    (NODE, Owner(0, 1000), 0o640, False, 0o440),
    (NODE, Owner(0, 50), 0o2775, True, 0o775),
    (NODE, Owner(0, 50), 0o710, True, 0o110),
    (NODE, Owner(0, 0), 0o755, True, 0o555),
    (NODE, Owner(0, 0), 0o4755, False, 0o555),
    (NODE, Owner(0, 0), 0o600, False, 0o000),
    (NODE, Owner(0, 0), 0o1777, True, 0o1777),
    (SOMEBODY, Owner(0, 0), 0o664, False, 0o664),
    (SOMEBODY, Owner(5, 5), 0o664, False, 0o464),
    (ROOT, Owner(5, 5), 0o444, False, 0o644),
    (ROOT, Owner(5, 5), 0o000, True, 0o700),
    (ROOT, Owner(0, 0), 0o001, False, 0o701),
    (ROOT, Owner(0, 0), 0o6644, False, 0o644),
]  # fmt: skip


@pytest.mark.parametrize(("user", "owner", "mode", "folder", "expected"), MODES)
def test_the_server_may_do_what_the_images_user_may(
    user: Account, owner: Owner, mode: int, folder: bool, expected: int
) -> None:
    assert oct(translated(mode, owner, user, folder=folder)) == oct(expected)
    again = translated(expected, owner, user, folder=folder)
    assert again == expected, "a file of two names is translated twice"
