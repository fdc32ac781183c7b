"""What the engine in a container and its client say to each other: lines of JSON.

To the engine: one job, then nothing; the end of its input means that the client is gone. From the engine: events
and files of the run folder as they come about, then one answer or one error. The client takes all of it for data
of a stranger: a server that broke out of its box may have written it.
"""

from __future__ import annotations

import base64
import json
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import sandbox
from sandbox import errors
from sandbox.containers.ownimage import BUILD
from sandbox.errors import (
    EngineFaultError,
    EvidenceError,
    HintproofError,
    ImageMissingError,
    NoDockerHostError,
    StreamError,
)
from sandbox.events import Event, Listener
from sandbox.evidence.codec import decode, encode
from sandbox.evidence.runs import RunFolder
from sandbox.hosts.job import ANSWERS, Answer, Job
from sandbox.targets.layers import Layer

_PIECE = 8 << 20
"""Bytes of a file that go into one line; a longer file is sent in several."""

_FILES_CAP = 1 << 30
"""Bytes of all files of a run together."""

_IN_A_CONTAINER = "the engine in the container"

_OUR_FAULT = "This is a fault of hintproof, not of the server. Please report it with the lines above."

_EVENTS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}

_ERRORS: Mapping[str, type[HintproofError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, HintproofError) and not issubclass(kind, NoDockerHostError)
}


def write_job(job: Job) -> bytes:
    """A job as the line that the engine reads. The values of ``-e`` are in it: it goes to no other place."""
    return _line({"version": sandbox.__version__, "job": encode(job)})


def read_job(line: bytes) -> Job:
    """The job in a line.

    Raises:
        OtherVersionError: the client is of another version of hintproof.
        EvidenceError: it is no job.
    """
    data = json.loads(line)
    if data["version"] != sandbox.__version__:
        raise OtherVersionError
    return decode(Job, data["job"])


class OtherVersionError(Exception):
    """The two ends of the stream are of different versions."""


class Teller:
    """The engine's end: everything that it tells, one line each. Any thread may use it.

    ``write`` takes whole lines and returns when they are on their way.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._lock = threading.Lock()

    def event(self, event: Event, /) -> None:
        """Tell an event; this is a listener."""
        self._say({"event": type(event).__name__, "data": encode(event)})

    def file(self, root: Path, path: Path) -> None:
        """Tell a file of the run folder ``root`` that was written."""
        content = path.read_bytes()
        name = path.relative_to(root).as_posix()
        with self._lock:  # the pieces of one file are not mixed with those of another
            for start in range(0, max(len(content), 1), _PIECE):
                piece = base64.b64encode(content[start : start + _PIECE]).decode()
                more = start + _PIECE < len(content)
                self._write(_line({"file": name, "data": piece, "more": more}))

    def answer(self, answer: Answer) -> None:
        """Tell what came of the job."""
        self._say({"answer": encode(answer)})

    def error(self, error: HintproofError) -> None:
        """Tell an error that people are meant to read."""
        kind = next(each.__name__ for each in type(error).__mro__ if each.__name__ in _ERRORS)
        self._say({"error": kind, "message": encode(str(error))})

    def send_image(self) -> None:
        """Ask for an image's archive."""
        self._say({"send": True})

    def unpacked(self, image: str) -> None:
        """Tell of an image that is unpacked now (UnpackedImage.encode)."""
        self._say({"unpacked": image})

    def layer(self, layer: Layer) -> None:
        """Tell of a package that is installed now."""
        self._say({"layer": encode(layer)})

    def version(self) -> None:
        """Tell of which version this engine is, where the client is of another."""
        self._say({"version": sandbox.__version__})

    def fault(self, trace: str) -> None:
        """Tell an exception that nobody foresaw."""
        self._say({"error": EngineFaultError.__name__, "message": encode(trace)})

    @contextmanager
    def telling(self, leave: Callable[[], object]) -> Iterator[None]:
        """Tell what ended the block, where something did; ``leave`` where nobody is there to be told."""
        try:
            yield
        except BrokenPipeError:
            leave()
        except OtherVersionError:
            self.version()
        except HintproofError as error:
            self.error(error)
        except Exception:  # noqa: BLE001 - whatever it is, the client has to tell it
            self.fault(traceback.format_exc())

    def _say(self, message: Mapping[str, Any]) -> None:
        line = _line(message)
        with self._lock:
            self._write(line)


def hear(
    lines: Iterable[bytes],
    job: Job,
    folder: RunFolder | None,
    listener: Listener,
    *,
    engine: str = _IN_A_CONTAINER,
) -> Answer | None:
    """Take what an engine tells of a job until it comes to its answer; None where the stream ends before that.

    Events go to ``listener``, files to ``folder``. ``engine`` is what messages call it.

    Raises:
        StreamError: it told what no engine of ours tells.
        EngineFaultError: it met what nobody foresaw.
        HintproofError: the engine's own error, of the same class as there.
    """
    files = _Files(folder)
    for line in lines:
        told = _read(line, ANSWERS[job.task], engine)
        if isinstance(told, HintproofError):
            raise told
        if isinstance(told, _Piece):
            files.take(told)
        elif isinstance(told, _Answered):
            return told.answer
        elif isinstance(told, _OfAnImage | Layer):
            raise StreamError(_strange("an image or a package where none was asked for"))
        else:
            listener(told)
    return None


def hear_of_image(lines: Iterable[bytes], send: Callable[[], None], listener: Listener) -> str | None:
    """Take what an unpacking process tells until it has the image (UnpackedImage.encode); None where the stream
    ends before that. ``send`` sends the archive, when it is asked for.

    Raises as :func:`hear` does.
    """
    for line in lines:
        told = _read(line, None)
        if isinstance(told, HintproofError):
            raise told
        if isinstance(told, _OfAnImage):
            if told.unpacked:
                return told.unpacked
            send()
        elif isinstance(told, _Piece | _Answered | Layer):
            raise StreamError(_strange("an answer where an image was asked for"))
        else:
            listener(told)
    return None


def hear_of_layer(lines: Iterable[bytes], listener: Listener) -> Layer | None:
    """Take what an installing process tells until it has the layer; None where the stream ends before that.

    Raises as :func:`hear` does.
    """
    for line in lines:
        told = _read(line, None)
        if isinstance(told, HintproofError):
            raise told
        if isinstance(told, Layer):
            return told
        if isinstance(told, _Piece | _Answered | _OfAnImage):
            raise StreamError(_strange("an answer where a package was asked for"))
        listener(told)
    return None


@dataclass(frozen=True, slots=True)
class _Answered:
    answer: Answer


@dataclass(frozen=True, slots=True)
class _OfAnImage:
    """What an image unpacked is; "" where its archive is asked for."""

    unpacked: str = ""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A file of the run folder or, where there is ``more`` to come, the next part of it."""

    name: str
    content: bytes
    more: bool


def _read(
    line: bytes, answer: type[Answer] | None, engine: str = _IN_A_CONTAINER
) -> Event | _Piece | _Answered | _OfAnImage | Layer | HintproofError:
    try:
        match json.loads(line):
            case {"event": str(kind), "data": data} if kind in _EVENTS:
                return decode(_EVENTS[kind], data)
            case {"file": str(name), "data": str(data), "more": bool(more)}:
                return _Piece(name, base64.b64decode(data, validate=True), more)
            case {"answer": data} if answer is not None:
                return _Answered(decode(answer, data))
            case {"send": True}:
                return _OfAnImage()
            case {"unpacked": str(text)} if text:
                return _OfAnImage(text)
            case {"layer": data}:
                return decode(Layer, data)
            case {"version": str(version)}:
                return ImageMissingError(
                    f"the container's image holds hintproof {version}, and this is {sandbox.__version__}",
                    f"build it anew: {BUILD}",
                )
            case {"error": "EngineFaultError", "message": str(text)}:
                return EngineFaultError(f"{engine} failed.\n{text}\n{_OUR_FAULT}")
            case {"error": str(kind), "message": str(text)} if kind in _ERRORS:
                return _ERRORS[kind](text)
    except EvidenceError as error:
        raise StreamError(_strange(str(error))) from error
    except (ValueError, RecursionError) as error:
        raise StreamError(_strange(f"a line that cannot be read, {type(error).__name__}")) from error
    raise StreamError(_strange("a message of an unknown kind"))


class _Files:
    """Puts files together from their pieces."""

    def __init__(self, folder: RunFolder | None) -> None:
        self._folder = folder
        self._name = ""
        self._pieces: list[bytes] = []
        self._room = _FILES_CAP

    def take(self, piece: _Piece) -> None:
        self._room -= len(piece.content)
        if self._room < 0:
            raise StreamError(_strange("more files than a run can have"))
        if self._folder is None or (self._pieces and piece.name != self._name):
            raise StreamError(_strange("a file out of place"))
        self._name = piece.name
        self._pieces.append(piece.content)
        if piece.more:
            return
        content = b"".join(self._pieces)
        self._pieces.clear()
        try:
            self._folder.save_copy(piece.name, content)
        except EvidenceError as error:
            raise StreamError(_strange(str(error))) from error


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _strange(what: str) -> str:
    return (
        f"the engine in the container told what no engine of hintproof tells: {what[:300]} "
        "The run was ended, and what it told is not to be relied on. "
        "Build the container's image anew: hintproof doctor --build"
    )
