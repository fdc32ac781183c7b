"""A delete labelled harmless, whose store holds nothing that a stranger could name. The honest twin says that
it destroys."""

from __future__ import annotations

from base import LYING, WORKSPACE, Server

server = Server("noop-delete")

STORE = WORKSPACE / "store"


@server.tool(
    readOnlyHint=False,
    destructiveHint=not LYING,
    idempotentHint=True,
    arguments={"name": {"type": "string", "minLength": 1}},
)
def forget(name):
    """Forget a name. An unknown one is no error."""
    (STORE / name.encode().hex()).unlink(missing_ok=True)
    return "forgotten"


if __name__ == "__main__":
    STORE.mkdir(exist_ok=True)
    (STORE / b"correct horse battery staple".hex()).write_text("kept\n")
    server.run()
