"""The one way in which opening a conversation fails."""

from __future__ import annotations

from sandbox.errors import ServerStartError


class HandshakeError(ServerStartError):
    """The server did not answer the handshake of one wire era.

    ``other_era`` says whether a fresh launch spoken to in the other era has a chance: the server
    refused the method or the version, or hung up (some servers exit at a request that they do not know).
    """

    def __init__(self, message: str, *, other_era: bool = False) -> None:
        super().__init__(message)
        self.other_era = other_era
