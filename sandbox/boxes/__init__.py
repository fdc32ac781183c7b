"""Boxes: isolated worlds with one running server each. ``Launcher`` starts them, ``Box`` is the handle of one."""

from sandbox.boxes.box import Box, Layer
from sandbox.boxes.launcher import Launcher
from sandbox.boxes.plan import BoxPlan, Exposure
from sandbox.boxes.rungs import Rung, ladder
from sandbox.model import Limits

__all__ = ["Box", "BoxPlan", "Exposure", "Launcher", "Layer", "Limits", "Rung", "ladder"]
