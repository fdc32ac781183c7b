"""Values for the ``format`` keyword: two of each, so that a second set of values differs from the first.

Names as in JSON Schema 2020-12, section 7.3, plus those of OpenAPI that servers use.
"""

from __future__ import annotations

from collections.abc import Mapping

FORMATS: Mapping[str, tuple[str, str]] = {
    "date-time": ("2024-01-15T10:30:00Z", "2024-06-30T18:00:00Z"),
    "date": ("2024-01-15", "2024-06-30"),
    "time": ("10:30:00Z", "18:00:00Z"),
    "duration": ("PT1S", "PT2S"),
    "email": ("ada@example.com", "bob@example.com"),
    "idn-email": ("ada@example.com", "bob@example.com"),
    "hostname": ("example.com", "example.org"),
    "idn-hostname": ("example.com", "example.org"),
    "ipv4": ("192.0.2.1", "192.0.2.2"),
    "ipv6": ("2001:db8::1", "2001:db8::2"),
    "ip": ("192.0.2.1", "192.0.2.2"),
    "uri": ("https://example.com/", "https://example.org/page"),
    "url": ("https://example.com/", "https://example.org/page"),
    "iri": ("https://example.com/", "https://example.org/page"),
    "uri-reference": ("https://example.com/", "/page"),
    "iri-reference": ("https://example.com/", "/page"),
    "uri-template": ("https://example.com/{id}", "https://example.org/{name}"),
    "uuid": ("6f1b3e2a-9c4d-4f58-8a7e-2b1c3d4e5f60", "0d9c8b7a-6f5e-4d3c-9b2a-1f0e9d8c7b6a"),
    "json-pointer": ("/name", "/id"),
    "relative-json-pointer": ("0/name", "1/id"),
    "regex": ("alpha", "[a-z]+"),
    "byte": ("aGVsbG8=", "d29ybGQ="),
    "binary": ("hello", "world"),
    "base64": ("aGVsbG8=", "d29ybGQ="),
    "base64url": ("aGVsbG8", "d29ybGQ"),
    "color": ("#336699", "#993366"),
    "phone": ("+15550100", "+15550101"),
    "password": ("correct horse battery", "staple battery horse"),
    "ulid": ("01HM7Z6W3V5QK8B2N4XTRD9FJG", "01HM7Z6W3V5QK8B2N4XTRD9FJH"),
    "semver": ("1.0.0", "1.1.0"),
}
