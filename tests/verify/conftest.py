"""Servers are verified once per module, twins side by side; tests ask what the reports say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import anyio
import pytest
from verifying import Run, Twins, Verified, nothing_left, verified


@pytest.fixture(scope="session")
def verify_all(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Verified]]:
    """Make verifications side by side; nothing of them may be left behind."""

    def make(*runs: Run) -> list[Verified]:
        place = tmp_path_factory.mktemp("verify")
        with nothing_left(str(place)):
            return anyio.run(partial(verified, runs, place))

    return make


@pytest.fixture(scope="session")
def verify_twins(verify_all: Callable[..., list[Verified]]) -> Callable[[Run], Twins]:
    """Verify a server of the catalogue and its honest twin."""

    def make(lying: Run) -> Twins:
        return Twins(*verify_all(lying, dataclasses.replace(lying, words=(*lying.words, "honest"))))

    return make
