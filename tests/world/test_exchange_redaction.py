from __future__ import annotations

import pytest

from sandbox.world.redaction import mark, redact_header, redact_url


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "Proxy-Authorization",
        "Cookie",
        "Set-Cookie",
        "X-Api-Key",
        "Api-Key",
        "X-Auth-Token",
        "X-Amz-Security-Token",
        "Client-Secret",
        "X-Goog-Api-Key",
        "PRIVATE-TOKEN",
        "X-Hub-Signature-256",
        "Mcp-Session-Id",
        "X-Password",
    ],
)
def test_a_header_that_holds_a_secret_is_recorded_as_its_mark(name: str) -> None:
    assert redact_header(name, "hunter2") == mark("hunter2")


@pytest.mark.parametrize("name", ["Host", "Accept", "User-Agent", "X-Author", "Content-Type", "Keywords"])
def test_other_headers_are_recorded_as_they_are(name: str) -> None:
    assert redact_header(name, "hunter2") == "hunter2"


def test_equal_secrets_have_equal_marks_and_others_do_not() -> None:
    assert mark("hunter2") == mark("hunter2")
    assert mark("hunter2") != mark("hunter3")
    assert "hunter2" not in mark("hunter2")


def test_an_authorization_keeps_its_scheme() -> None:
    assert redact_header("authorization", "Bearer hunter2") == f"Bearer {mark('hunter2')}"
    assert redact_header("authorization", "hunter2") == mark("hunter2")


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("https://a.org/p?api_key=hunter2&q=1", f"https://a.org/p?api_key={mark('hunter2')}&q=1"),
        ("https://a.org/p?access%5Ftoken=hunter2", f"https://a.org/p?access%5Ftoken={mark('hunter2')}"),
        ("https://a.org/p?token=a%20b", f"https://a.org/p?token={mark('a b')}"),
        ("https://a.org/p?sig=hunter2", f"https://a.org/p?sig={mark('hunter2')}"),
        ("https://u:hunter2@a.org/", f"https://{mark('u:hunter2')}@a.org/"),
    ],
)
def test_secrets_in_a_url_are_recorded_as_their_marks(url: str, redacted: str) -> None:
    assert redact_url(url) == redacted


@pytest.mark.parametrize(
    "url",
    [
        "https://a.org/p?q=x&keyword=y&author=z&token=",
        "https://a.org/p@q",
        "https://a.org/?mail=a@b.org",
        "a.org:443",
    ],
)
def test_a_url_without_secrets_is_recorded_as_it_is(url: str) -> None:
    assert redact_url(url) == url
