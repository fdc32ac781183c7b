"""Arguments for tools: valid under their schemas, aimed at being accepted, and sweeping what the input space offers."""

from sandbox.arguments.learned import Learned
from sandbox.arguments.shrink import shrink
from sandbox.arguments.sweep import propose
from sandbox.model import Proposal

__all__ = ["Learned", "Proposal", "propose", "shrink"]
