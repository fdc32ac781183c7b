"""The handshakes of both wire eras, read from raw JSON.

Legacy: ``initialize`` and ``notifications/initialized`` (2024-11-05 to 2025-11-25). Modern: ``server/discover``
(2026-07-28), stateless, every request carrying its version. The typed results of the SDK are only built from
what was read here, for its session to know the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcp import ClientSession
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    DiscoverResult,
    Implementation,
    InitializeResult,
    ServerCapabilities,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from sandbox import __version__
from sandbox.client.answers import CAPABILITIES
from sandbox.client.channel import Answer, Channel, Ended, Stamp
from sandbox.client.errors import HandshakeError
from sandbox.client.remarks import quote
from sandbox.client.settings import ClientSettings
from sandbox.model import Json, ServerFacts

_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_ERA_CODES = frozenset({UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND, INVALID_PARAMS})
_MAX_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Greeting:
    """What the handshake told: the server's facts and its raw capabilities."""

    facts: ServerFacts
    capabilities: Mapping[str, Json]


async def greet(
    channel: Channel, session: ClientSession, settings: ClientSettings, transport: str
) -> Greeting:
    """Make the handshake of ``settings.era`` and set the channel's stamp.

    Raises:
        HandshakeError: refused, unintelligible, hung up or silent.
    """
    info: dict[str, Json] = {"name": settings.client_name, "version": __version__}
    if settings.era == "modern":
        return await _discover(channel, session, settings, info, transport)
    return await _initialize(channel, session, settings, info, transport)


async def _initialize(
    channel: Channel,
    session: ClientSession,
    settings: ClientSettings,
    info: Mapping[str, Json],
    transport: str,
) -> Greeting:
    answer = await channel.ask(
        "initialize",
        {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": dict(CAPABILITIES),
            "clientInfo": dict(info),
        },
        settings.handshake_timeout_s,
        cancellable=False,
    )
    result = _result(answer, "initialize", channel, settings)
    version = result.get("protocolVersion")
    if not isinstance(version, str) or version not in HANDSHAKE_PROTOCOL_VERSIONS:
        told = quote(repr(version))
        raise HandshakeError(
            f"The server answered initialize with protocol version {told}; hintproof speaks"
            f" {', '.join(HANDSHAKE_PROTOCOL_VERSIONS)}.",
            other_era=version in MODERN_PROTOCOL_VERSIONS,
        )
    session.adopt(
        InitializeResult(
            protocol_version=version,
            capabilities=ServerCapabilities(),
            server_info=Implementation(name="server", version="0"),
        )
    )
    channel.stamp = Stamp(version, info, modern=False)
    await channel.notify("notifications/initialized")
    return _greeting(result, result.get("serverInfo"), version, "legacy", transport)


async def _discover(
    channel: Channel,
    session: ClientSession,
    settings: ClientSettings,
    info: Mapping[str, Json],
    transport: str,
) -> Greeting:
    async def ask(version: str) -> Answer:
        return await channel.ask(
            "server/discover",
            {},
            settings.handshake_timeout_s,
            stamp=Stamp(version, info, modern=True),
            cancellable=False,
        )

    answer = await ask(LATEST_MODERN_VERSION)
    if answer.ended is Ended.ERROR and answer.body.get("code") == UNSUPPORTED_PROTOCOL_VERSION:
        data = answer.body.get("data")
        mutual = _mutual(data.get("supported") if isinstance(data, dict) else None)
        if mutual is not None:
            answer = await ask(mutual)
    result = _result(answer, "server/discover", channel, settings)
    version = _mutual(result.get("supportedVersions"))
    if version is None:
        told = quote(repr(result.get("supportedVersions")))
        raise HandshakeError(
            f"The server supports the protocol versions {told}; hintproof speaks"
            f" {', '.join(MODERN_PROTOCOL_VERSIONS)} in the modern era.",
            other_era=True,
        )
    session.adopt(DiscoverResult(supported_versions=[version], capabilities=ServerCapabilities()))
    channel.stamp = Stamp(version, info, modern=True)
    meta = result.get("_meta")
    server_info = meta.get(_SERVER_INFO) if isinstance(meta, dict) else None
    return _greeting(result, server_info, version, "modern", transport)


def _mutual(supported: Json) -> str | None:
    if not isinstance(supported, list):
        return None
    return next((version for version in reversed(MODERN_PROTOCOL_VERSIONS) if version in supported), None)


def _greeting(
    result: Mapping[str, Json], server_info: Json, version: str, era: str, transport: str
) -> Greeting:
    info = server_info if isinstance(server_info, dict) else {}
    capabilities = result.get("capabilities")

    def text(value: Json) -> str:
        return value[:_MAX_TEXT] if isinstance(value, str) else ""

    facts = ServerFacts(
        name=text(info.get("name")),
        version=text(info.get("version")),
        protocol=version,
        era=era,
        instructions=text(result.get("instructions")),
        transport=transport,
    )
    return Greeting(facts, capabilities if isinstance(capabilities, dict) else {})


def _result(answer: Answer, method: str, channel: Channel, settings: ClientSettings) -> Mapping[str, Json]:
    match answer.ended:
        case Ended.RESULT:
            return answer.body
        case Ended.ERROR:
            code, message = answer.body.get("code"), quote(str(answer.body.get("message")))
            raise HandshakeError(
                f"The server refused {method}: {message} (code {code}).", other_era=code in _ERA_CODES
            )
        case Ended.MALFORMED:
            raise HandshakeError(f"The server's answer to {method} is no JSON-RPC: {answer.why}.")
        case Ended.CLOSED:
            raise HandshakeError(
                f"The server hung up before it answered {method}.{_seen(channel)}",
                other_era=True,
            )
        case Ended.TIMED_OUT:
            raise HandshakeError(
                f"The server did not answer {method} within {settings.handshake_timeout_s:g} s.{_seen(channel)}"
                f" If it is slow to start: --timeout start={2 * settings.handshake_timeout_s:g}"
            )


def _seen(channel: Channel) -> str:
    remarks = channel.intake.remarks.all()
    if not remarks:
        return " It sent nothing."
    return " Seen instead: " + "; ".join(remark.text for remark in remarks[:3]) + "."
