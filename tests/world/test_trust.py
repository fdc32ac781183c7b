"""Where a box's clients find the run's authority, whatever distribution an image is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.world.trust import BUNDLE_PATH, trust_seeds

OURS = b"-----BEGIN CERTIFICATE-----\nours\n"
THEIRS = b"-----BEGIN CERTIFICATE-----\ntheirs\n"

IMAGES: dict[str, tuple[dict[str, str], set[str]]] = {
    # files ("" for a bundle, else where a symlink leads), and the bundles of the box
    "scratch": ({}, {BUNDLE_PATH}),
    "Debian": ({BUNDLE_PATH: ""}, {BUNDLE_PATH}),
    "Alpine": (
        {BUNDLE_PATH: "", "/etc/ssl/cert.pem": "certs/ca-certificates.crt"},
        {BUNDLE_PATH},
    ),
    "Alpine with its own libssl": (
        {BUNDLE_PATH: "", "/etc/ssl/cert.pem": "", "/etc/ssl1.1": "/etc/ssl"},
        {BUNDLE_PATH, "/etc/ssl/cert.pem"},
    ),
    "Fedora": (
        {
            "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem": "",
            "/etc/pki/tls/certs/ca-bundle.crt": "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
            "/etc/pki/tls/cert.pem": "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
            "/etc/ssl/certs": "../pki/tls/certs",
        },
        {"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/pki/tls/certs/ca-certificates.crt"},
    ),
    "SUSE": (
        {
            "/var/lib/ca-certificates/ca-bundle.pem": "",
            "/etc/ssl/ca-bundle.pem": "/var/lib/ca-certificates/ca-bundle.pem",
        },
        {"/var/lib/ca-certificates/ca-bundle.pem", BUNDLE_PATH},
    ),
    "a circle": ({"/etc/ssl/cert.pem": "cert.pem"}, {BUNDLE_PATH}),
    "a circle above all of them": ({"/etc": "etc"}, set()),
}


@pytest.mark.parametrize("name", IMAGES)
def test_each_bundle_of_an_image_is_extended_where_it_lies(tmp_path: Path, name: str) -> None:
    files, expected = IMAGES[name]
    for path, target in files.items():
        place = tmp_path / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if target:
            place.symlink_to(target)
        else:
            place.write_bytes(THEIRS)
    seeds = {seed.path: seed.content for seed in trust_seeds(OURS, str(tmp_path))}
    assert set(seeds) == expected
    for path, content in seeds.items():
        there = (tmp_path / path.lstrip("/")).is_file()
        assert content == (THEIRS + OURS if there else OURS)


def test_a_bundle_is_read_in_the_image_alone(tmp_path: Path) -> None:
    (tmp_path / "etc/ssl").mkdir(parents=True)
    (tmp_path / "etc/ssl/cert.pem").symlink_to("/etc/passwd")
    assert [seed.content for seed in trust_seeds(OURS, str(tmp_path))] == [OURS]


def test_a_box_of_the_host_trusts_the_authority_alone() -> None:
    (seed,) = trust_seeds(OURS)
    assert (seed.path, seed.content) == (BUNDLE_PATH, OURS)
