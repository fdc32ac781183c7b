"""The run's certificate authority. Its key never leaves the gateway process and never touches a disk."""

from __future__ import annotations

import os
import ssl
from collections import OrderedDict
from datetime import UTC, datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

MOST_CONTEXTS = 256
"""TLS contexts kept; one is about 50 KiB."""

# Wide enough for a box whose clock was set to another date.
_NOT_BEFORE = datetime(2000, 1, 1, tzinfo=UTC)
_NOT_AFTER = datetime(2049, 12, 31, tzinfo=UTC)


class Authority:
    """Issues a certificate for whatever name a client asks for.

    ``pem`` is the authority's own certificate. It and the leaves hold to RFC 5280 closely enough for
    verifiers in strict mode (``ssl.VERIFY_X509_STRICT``, the default from Python 3.13 on).
    """

    def __init__(self, most: int = MOST_CONTEXTS) -> None:
        self._most = most
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        self._key = ec.generate_private_key(ec.SECP256R1())
        # One key serves all leaves: making one per name would only cost time.
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hintproof gateway")])
        usage = _usage(digital_signature=False, signs_certificates=True)
        certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = certificate.public_bytes(Encoding.PEM)

    def context(self, host: str) -> ssl.SSLContext:
        """A server context that presents a certificate for ``host``, a name or an IP address."""
        known = self._contexts.get(host)
        if known is not None:
            self._contexts.move_to_end(host)
            return known
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2", "http/1.1"])
        _load(context, self._leaf(host))
        self._contexts[host] = context
        if len(self._contexts) > self._most:
            self._contexts.popitem(last=False)
        return context

    def _leaf(self, host: str) -> bytes:
        # A common name holds 64 characters (RFC 5280, ub-common-name); verifiers read the alternative name.
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
        certificate = (
            _builder(subject, self._name, self._leaf_key.public_key())
            .add_extension(x509.SubjectAlternativeName([_alternative_name(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True, signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self._leaf_key.public_key()), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        key = self._leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return key + certificate.public_bytes(Encoding.PEM)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOT_BEFORE)
        .not_valid_after(_NOT_AFTER)
    )


def _usage(*, digital_signature: bool, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _load(context: ssl.SSLContext, chain: bytes) -> None:
    """Give ``context`` its key and certificate: ssl takes paths only, and a memfd has one off the disk."""
    descriptor = os.memfd_create("leaf", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, chain)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
