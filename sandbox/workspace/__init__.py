"""The workspace that a server finds: seeds for its folders, decoy secrets, and the facts that arguments are
aimed with."""

from sandbox.workspace.canaries import Canaries, canary_mark, plant_canaries
from sandbox.workspace.furnish import DEFAULT_WORKSPACE, SAMPLES, Furnishing, furnish
from sandbox.workspace.samples import png_base64
from sandbox.workspace.surroundings import Column, Database, FileSample, Repo, Surroundings

__all__ = [
    "DEFAULT_WORKSPACE",
    "SAMPLES",
    "Canaries",
    "Column",
    "Database",
    "FileSample",
    "Furnishing",
    "Repo",
    "Surroundings",
    "canary_mark",
    "furnish",
    "plant_canaries",
    "png_base64",
]
