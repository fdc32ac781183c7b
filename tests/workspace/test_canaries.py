"""Decoy secrets: everywhere a thief looks, unique per run, and known again wherever they turn up."""

from __future__ import annotations

from sandbox.workspace import canary_mark, plant_canaries

HOME = "/home/user"


def test_every_decoy_holds_the_mark_of_its_run() -> None:
    seeds, paths, environment = plant_canaries(HOME, 7)
    contents = {seed.path: seed.content for seed in seeds}
    mark = canary_mark(7)
    assert paths
    assert environment
    for path in paths:
        assert mark.encode() in contents[path].replace(b"\n", b""), path
    assert all(mark in value for value in environment.values())


def test_two_runs_share_no_value() -> None:
    assert canary_mark(1) != canary_mark(2)
    other = plant_canaries(HOME, 2)
    assert not [seed for seed in other.seeds if canary_mark(1).encode() in seed.content]


def test_the_same_seed_plants_the_same_decoys() -> None:
    assert plant_canaries(HOME, 3) == plant_canaries(HOME, 3)


def test_the_places_that_thieves_look_in_are_all_there() -> None:
    paths = plant_canaries(HOME).paths
    looked_in = [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        ".netrc",
        ".npmrc",
        ".docker/config.json",
    ]
    looked_in += [".kube/config", ".git-credentials"]
    assert {f"{HOME}/{name}" for name in looked_in} <= set(paths)


def test_the_git_identity_is_seeded_but_is_no_decoy() -> None:
    seeds, paths, _ = plant_canaries(HOME, 7)
    identity = next(seed for seed in seeds if seed.path == f"{HOME}/.gitconfig")
    assert b"email" in identity.content
    assert canary_mark(7).encode() not in identity.content
    assert identity.path not in paths


def test_only_their_owner_may_read_them() -> None:
    seeds, paths, _ = plant_canaries(HOME)
    assert {seed.mode for seed in seeds if seed.path in paths} == {0o600}
