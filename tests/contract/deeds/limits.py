"""What takes all there is of something, or the server's life, beside a tool that is fine."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time

from deeds import WORKSPACE, Deeds

server = Deeds("contract-limits")
BLOCK = b"x" * (1 << 20)


@server.reads
def be_fine():
    return "fine"


@server.reads
def eat_memory():
    eaten = []
    while True:
        eaten.append(bytearray(BLOCK))


@server.reads
def eat_shared_memory():
    eaten = mmap.mmap(-1, 2 << 30)
    for at in range(0, 2 << 30, mmap.PAGESIZE):
        eaten[at] = 1


@server.reads
def fork_without_end():
    while True:
        try:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
        except OSError:
            return "no more"


@server.piles
def write_a_huge_file():
    with (WORKSPACE / "huge").open("wb") as file:
        while True:
            file.write(BLOCK)


@server.piles
def fill_the_disk():
    for number in range(64):
        with (WORKSPACE / f"part-{number}").open("wb") as file:
            for _ in range(4):
                file.write(BLOCK)


@server.reads
def open_many_files():
    opened = []
    try:
        while True:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return [error.errno, len(opened) < 128]
    finally:
        for each in opened:
            os.close(each)


@server.reads
def hang():
    ctypes.CDLL(None).prctl(15, b"hanging")  # PR_SET_NAME: the tests see from outside that it hangs
    time.sleep(600)


@server.reads
def crash():
    os._exit(9)


@server.reads
def flood_stdout():
    while True:
        sys.stdout.write("flood " * 1000 + "\n")
