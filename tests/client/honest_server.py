"""A server made with the official SDK: both wire eras, and everything that a client can be asked.

``honest_server.py`` speaks stdio, ``honest_server.py http PORT`` Streamable HTTP on 127.0.0.1.
"""

import sys
from datetime import date
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ListRoots, Resolve, Sample
from mcp_types import CreateMessageResult, ListRootsResult, SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer("honest", version="1.2.3", instructions="Be kind.")


class Order(BaseModel):
    """The form that ``order`` asks to be filled."""

    size: Literal["small", "large"]
    count: int = Field(ge=2, le=5)
    email: Annotated[str, Field(json_schema_extra={"format": "email"})]
    day: Annotated[str, Field(json_schema_extra={"format": "date"})]
    note: str = Field(min_length=10)
    agree: bool


def ask_for_order() -> Elicit[Order]:
    return Elicit("Your order, please", Order)


def ask_the_model() -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="hi"))], max_tokens=5)


def ask_for_roots() -> ListRoots:
    return ListRoots()


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def fail() -> str:
    """Never succeed."""
    raise ValueError("not today")


@server.tool()
def order(form: Annotated[Order, Resolve(ask_for_order)]) -> str:
    """Ask for an order."""
    date.fromisoformat(form.day)
    return form.model_dump_json()


@server.tool()
def sample(message: Annotated[CreateMessageResult, Resolve(ask_the_model)]) -> str:
    """Ask the client's model."""
    return message.content.text


@server.tool()
def roots(listed: Annotated[ListRootsResult, Resolve(ask_for_roots)]) -> str:
    """Ask for the client's roots."""
    return " ".join(str(root.uri) for root in listed.roots)


@server.tool()
def mirrored(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """An argument that HTTP clients have to mirror into a header."""
    return region


@server.tool()
async def progress(context: Context) -> str:
    """Report progress on the way."""
    await context.report_progress(1, 2)
    await context.report_progress(2, 2)
    return "done"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run()
