"""What the client answers when the server asks it: roots, a canned sampling, a filled elicitation form.

The same answers serve the requests of the legacy era and the ``inputRequests`` of the modern one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from sandbox.client.forms import fill_form
from sandbox.model import Json

CAPABILITIES: Mapping[str, Json] = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}},
    "elicitation": {"form": {}, "url": {}},
}
"""All that a client can declare: what a server lists depends on it (server-everything: 13 tools or 17)."""

_COMPLETION = "This is a canned completion: no language model is connected."


def answer_roots(roots: tuple[str, ...]) -> dict[str, Json]:
    """A ``ListRootsResult`` for absolute paths."""
    paths = [PurePosixPath(root) for root in roots]
    return {"roots": [{"uri": path.as_uri(), "name": path.name or "/"} for path in paths]}


def answer_sampling() -> dict[str, Json]:
    """A ``CreateMessageResult`` that is always the same."""
    return {
        "role": "assistant",
        "content": {"type": "text", "text": _COMPLETION},
        "model": "canned",
        "stopReason": "endTurn",
    }


def answer_elicitation(params: Mapping[str, Json]) -> dict[str, Json]:
    """An ``ElicitResult``: a form is accepted with valid values, or declined where none can be found.

    A URL is accepted when it is one that a person could have opened; nothing is fetched.
    """
    if params.get("mode") == "url":
        url = params.get("url")
        opened = isinstance(url, str) and url.startswith(("https://", "http://"))
        return {"action": "accept" if opened else "decline"}
    form = fill_form(params.get("requestedSchema"))
    if form is None:
        return {"action": "decline"}
    return {"action": "accept", "content": form}


def answer_input(method: str, params: Mapping[str, Json], roots: tuple[str, ...]) -> dict[str, Json] | None:
    """The answer to any request that a client can be asked, or None for a method that it does not have."""
    match method:
        case "roots/list":
            return answer_roots(roots)
        case "sampling/createMessage":
            return answer_sampling()
        case "elicitation/create":
            return answer_elicitation(params)
        case _:
            return None
