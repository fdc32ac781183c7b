"""What a server meets outside of its box: a gateway that answers every address and records all of it."""

from sandbox.world.exchanges import ExchangeLog
from sandbox.world.handle import World
from sandbox.world.tap import read_tap
from sandbox.world.trust import machine_certificates, trust_seeds

__all__ = ["ExchangeLog", "World", "machine_certificates", "read_tap", "trust_seeds"]
