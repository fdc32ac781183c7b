"""A box, its world and the MCP conversation in it, joined: the unit in which calls are made."""

from sandbox.session.ground import Ground, SessionSettings
from sandbox.session.pool import SessionPool
from sandbox.session.session import Session

__all__ = ["Ground", "Session", "SessionPool", "SessionSettings"]
