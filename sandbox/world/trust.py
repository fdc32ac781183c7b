"""What makes a server's clients trust the run's authority: variables, and bundles of certificates at known places."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from types import MappingProxyType

from sandbox.linux.links import follow
from sandbox.model import SeedEntry

BUNDLE_PATH = "/etc/ssl/certs/ca-certificates.crt"
"""Where a box keeps the certificates that it trusts: the path that Debian's programs have built in."""

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            # node, npm and bun have roots compiled in; this adds to them.
            "NODE_EXTRA_CA_CERTS",
            # OpenSSL's own variable: Python's ssl and urllib under interpreters built elsewhere, httpx (which
            # would take certifi), uv, Ruby. Go reads it too.
            "SSL_CERT_FILE",
            # requests takes certifi's bundle unless told.
            "REQUESTS_CA_BUNDLE",
            # curl and libcurl that were built for another path, pycurl.
            "CURL_CA_BUNDLE",
            # git sets libcurl's bundle itself.
            "GIT_SSL_CAINFO",
            # pip carries its own requests and certifi.
            "PIP_CERT",
            # npm's own setting replaces every root, NODE_EXTRA_CA_CERTS included, where an .npmrc has one.
            "npm_config_cafile",
            # botocore carries its own bundle.
            "AWS_CA_BUNDLE",
            # deno has roots compiled in.
            "DENO_CERT",
            # gRPC's C core has roots compiled in.
            "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        ),
        BUNDLE_PATH,
    )
)

_BUNDLES = (
    BUNDLE_PATH,  # Debian, Ubuntu, Arch, Alpine, distroless
    "/etc/ssl/cert.pem",  # Alpine's libssl, LibreSSL
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/var/lib/ca-certificates/ca-bundle.pem",  # SUSE
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/pki/tls/cert.pem",  # Fedora, RHEL
    "/etc/pki/tls/cacert.pem",  # OpenELEC, by Go's list
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # RHEL 7 and later
    "/etc/ssl/certs/ca-bundle.crt",  # NixOS
    "/usr/local/share/certs/ca-root-nss.crt",  # ports of FreeBSD's, by Go's list
)
"""Where programs look for certificates: those that have the path built in (Go, crypto/x509/root_linux.go; curl;
OpenSSL of each distribution)."""

_LARGEST = 4 << 20


def trust_seeds(ca_pem: bytes, image: str = "") -> tuple[SeedEntry, ...]:
    """The bundles of a box that trusts ``ca_pem`` as well.

    ``image`` is the folder of an unpacked image: its own bundles are extended, wherever they lie, and what leads
    to them stays as it is. An image without any, and a box of the host, get one of their own.
    """
    seeds: dict[str, SeedEntry] = {}
    for path in _BUNDLES if image else ():
        try:
            real = follow(path, image)[0]
            with open(image + real, "rb", opener=_open_without_waiting) as file:
                content = file.read(_LARGEST)
        except OSError:  # most images have one or two of them
            continue
        seeds[real] = SeedEntry(real, "file", 0o644, content.rstrip(b"\n") + b"\n" + ca_pem)
    try:
        own = follow(BUNDLE_PATH, image)[0] if image else BUNDLE_PATH
    except OSError:  # a circle, in which nobody finds a bundle
        return tuple(seeds.values())
    seeds.setdefault(own, SeedEntry(own, "file", 0o644, ca_pem))
    return tuple(seeds.values())


def machine_certificates(environ: Mapping[str, str]) -> bytes:
    """The certificates that this machine trusts, PEM: the bundle that ``environ`` names or the system's, and what node is
    told to trust beside its own. Empty where none is found."""
    named = (environ.get("SSL_CERT_FILE", ""), ssl.get_default_verify_paths().cafile or "", *_BUNDLES)
    found = next((content for path in named if (content := _read(path))), b"")
    more = _read(environ.get("NODE_EXTRA_CA_CERTS", ""))
    return found if more in found else found.rstrip(b"\n") + b"\n" + more


def _read(path: str) -> bytes:
    try:
        with open(os.path.realpath(path), "rb", opener=_open_without_waiting) as file:
            return file.read(_LARGEST)
    except OSError:
        return b""


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
