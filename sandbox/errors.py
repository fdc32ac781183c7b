"""Every error of hintproof, each with the exit code that it ends the command with.

The server's fault is data, never an exception of this page. Each message says what happened, why, and
what to do next.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command (design, section 6)."""

    OK = 0
    CONTRADICTED = 1
    USAGE = 2
    SERVER_UNREACHABLE = 3
    NO_SANDBOX = 4
    NOTHING_VERIFIED = 5
    OUR_FAULT = 70
    INTERRUPTED = 130


class HintproofError(Exception):
    """Root of the errors that people are meant to read."""

    exit_code = ExitCode.OUR_FAULT


class UsageError(HintproofError):
    """The command line asks for something that cannot be meant."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """A settings or scenario file is wrong; the message names file, line and the nearest valid key."""


class TargetNotFoundError(UsageError):
    """The target's command, package or file is not on this machine."""


class NeedsInputError(UsageError):
    """A server needs values that only the user can give; ``names`` are what it calls them."""

    def __init__(self, message: str, names: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.names = names


class BundleError(UsageError):
    """A bundle (.mcpb) cannot be unpacked: damaged, hostile or too large."""


class RunNotFoundError(UsageError):
    """A run or a finding id that is not in the run folder."""


class ServerStartError(HintproofError):
    """The server exited, or never spoke MCP, before its tools were listed; ``said`` is the end of its standard error."""

    exit_code = ExitCode.SERVER_UNREACHABLE
    said: str = ""


class ImageError(HintproofError):
    """An image cannot be used: damaged, hostile, for another processor, or not to be had."""

    exit_code = ExitCode.SERVER_UNREACHABLE


class InstallError(HintproofError):
    """A package cannot be installed: it is not to be had, its installer fails, or what it leaves cannot be kept."""

    exit_code = ExitCode.SERVER_UNREACHABLE


class CancelledError(HintproofError):
    """An installation was ended because whoever asked for it no longer wants it."""

    exit_code = ExitCode.INTERRUPTED


class NoSandboxError(HintproofError):
    """No rung of the sandbox ladder works on this machine."""

    exit_code = ExitCode.NO_SANDBOX


class NothingVerifiedError(HintproofError):
    """The server lists no tools, or none of those asked for."""

    exit_code = ExitCode.NOTHING_VERIFIED


class BoxLostError(HintproofError):
    """One of our own processes (daemon, observer, gateway) died while a box was in use."""


class EngineFaultError(HintproofError):
    """The engine in the container met what nobody foresaw; the message is its traceback."""


class StreamError(HintproofError):
    """What came out of the container is not what our engine tells."""


class DiskFullError(HintproofError):
    """The run folder cannot be written."""


class EvidenceError(HintproofError):
    """Saved evidence cannot be read: damaged, or of another format version."""

    exit_code = ExitCode.USAGE


class NoDockerHostError(NoSandboxError):
    """No container of ours can be had on this machine, because of ``reason``; ``cure`` says what to change."""

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(f"{reason}\n  cure: {cure}")
        self.reason = reason
        self.cure = cure


class NoDockerError(NoDockerHostError):
    """No Docker engine answers, or one that cannot serve: it runs on another machine."""


class ImageMissingError(NoDockerHostError):
    """The engine's own image is not there, or was built from another version."""


class ImageBuildError(NoDockerHostError):
    """The engine's own image cannot be built; the reason ends with what the build said last."""


class ContainerRefusedError(NoDockerHostError):
    """Docker does not start the engine's container: a flag, a mount or a limit is refused."""


class ContainerLostError(HintproofError):
    """The engine's container, or Docker itself, went away while it was in use."""


class ImageNotFoundError(TargetNotFoundError):
    """The image of a server is neither here nor to be had."""
