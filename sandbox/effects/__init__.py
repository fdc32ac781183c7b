"""What a step did: changes of files, read by meaning and joined with everything else the instruments saw, as effects."""

from sandbox.effects.collector import Collector, mark_background
from sandbox.effects.differ import FileDiffer
from sandbox.effects.reader import Readers

__all__ = ["Collector", "FileDiffer", "Readers", "mark_background"]
