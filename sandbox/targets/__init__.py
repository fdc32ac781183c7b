"""Targets: from what the user named to something that a box can launch, by looking only."""

from sandbox.targets.launch import Launch, WorkspacePlace
from sandbox.targets.resolve import resolve

__all__ = ["Launch", "WorkspacePlace", "resolve"]
