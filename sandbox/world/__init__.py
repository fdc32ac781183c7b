"""What a server meets outside of its box: a gateway that answers every address and records all of it."""

from sandbox.world.exchanges import ExchangeLog
from sandbox.world.handle import World
from sandbox.world.tap import read_tap

__all__ = ["ExchangeLog", "World", "read_tap"]
