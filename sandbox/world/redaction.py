"""Secrets taken out of what is recorded, so that equal ones can still be told."""

from __future__ import annotations

import re
from hashlib import blake2b
from urllib.parse import unquote, unquote_plus

# The parts of header and parameter names that mark a secret. "author", "keyword" and "keyboard" are
# common parameters and none.
_SECRET_NAME = re.compile(
    r"token|secret|passw|passphrase|credential|signature|cookie|session"
    r"|auth(?!ors?$|or[-_])|key(?!word|board)|^sig$|^pwd$",
    re.IGNORECASE,
)
# The scheme in front of a credential (RFC 9110, 11.4) is no secret: "Bearer abc", "Basic dXNlcg==".
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9-]*) +(\S.*)", re.DOTALL)
_USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*://)([^/?#@]*)@", re.IGNORECASE)


def mark(secret: str) -> str:
    """What stands in place of a secret: ``redacted-`` and 12 hex digits of its blake2b digest."""
    return f"redacted-{blake2b(secret.encode('utf-8', 'surrogateescape'), digest_size=6).hexdigest()}"


def is_secret_name(name: str) -> bool:
    """Whether a header or parameter of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def redact_header(name: str, value: str) -> str:
    """The value of a header as it may be recorded. An ``Authorization`` keeps its scheme."""
    if not is_secret_name(name):
        return value
    scheme = _SCHEME.fullmatch(value) if name.lower().endswith("authorization") else None
    return f"{scheme[1]} {mark(scheme[2])}" if scheme else mark(value)


def redact_url(url: str) -> str:
    """A URL without its user information and without the values of parameters that name a secret.

    A mark is the digest of the decoded value, so that it equals the mark of the same secret elsewhere.
    """
    url = _USERINFO.sub(lambda found: f"{found[1]}{mark(unquote(found[2]))}@", url)
    location, question, query = url.partition("?")
    if not question:
        return url
    return f"{location}?{'&'.join(map(_redact_parameter, query.split('&')))}"


def _redact_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    if not value or not is_secret_name(unquote_plus(name)):
        return parameter
    return f"{name}{equals}{mark(unquote_plus(value))}"
