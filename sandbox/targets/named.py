"""The one door for every word that names a server: packages, images, addresses, folders, files, commands."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.errors import ConfigError, TargetNotFoundError, UsageError
from sandbox.model import Json
from sandbox.targets import checkouts
from sandbox.targets.bundles import MANIFEST, SUFFIXES, is_manifest, read_bundle, read_manifest
from sandbox.targets.clientconfig import read_client_config, servers_in
from sandbox.targets.dockerrun import PREFIX as IMAGE
from sandbox.targets.dockerrun import image_order
from sandbox.targets.documents import read_file, read_json
from sandbox.targets.orders import Given, Order
from sandbox.targets.packagewords import PREFIXES as PACKAGES
from sandbox.targets.packagewords import missing_package, package_order
from sandbox.targets.serverjson import is_server_json, read_server_json, server_name

URLS = ("http://", "https://")
"""What a target begins with that is a server somewhere else."""

RUNNERS = {".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "npx tsx", ".sh": "bash"}
"""What runs a file of that suffix."""

_MOST_ORDERS = 2000


def read_targets(
    words: Sequence[str],
    command: Sequence[str] = (),
    *,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    given: Given | None = None,
    image: str = "",
    several: bool = False,
) -> tuple[Order, ...]:
    """Every server that a command line names, in its order.

    ``words`` are the targets before ``--``, ``command`` the words after it: the server's command where there is no
    target, else the arguments of the one server that is named. ``image`` is ``--image``. ``environ`` are the host's
    variables (the process's by default). Where ``several`` words are to be read, here or by further calls, a
    file that cannot be used is an order with a ``problem``. Files are read, and a bundle is unpacked; nothing is run or fetched.

    Raises:
        UsageError: a word names no target, or what cannot be meant.
        ConfigError: a file is not what it seems to be.
        BundleError: a bundle is damaged or hostile.
        TargetNotFoundError: a file is not there.
    """
    host = os.environ if environ is None else environ
    asked = given or Given()
    if image:
        if words:
            raise UsageError(
                f"--image {image}: runs a command after --, so {words[0]} cannot be named as well."
            )
        return (_of_image(tuple(command), image, cwd, host),)
    if not words:
        if not command:
            raise UsageError(
                "No target. Name one, such as npm:NAME, pypi:NAME, oci:IMAGE, a folder or a file, "
                "or the server's command after --, such as: -- python server.py"
            )
        return (_of_command(tuple(command), cwd, host),)
    lenient = several or len(words) > 1
    orders = [order for word in words for order in _of_word(word, cwd, host, asked, lenient=lenient)]
    if len(orders) > _MOST_ORDERS:
        raise UsageError(f"More than {_MOST_ORDERS} servers are named. Name fewer at a time.")
    if command:
        if len(orders) != 1:
            raise UsageError(
                f"The words after -- are arguments of one server, and {len(orders)} are named. Name one: FILE#NAME."
            )
        return (_with_arguments(orders[0], tuple(command)),)
    return tuple(orders)


def looks_like_target(word: str, cwd: Path) -> bool:
    """Whether a word names a target, rather than a tool or a program: by how it begins, or because it is
    a folder, a bundle or a JSON file that is there."""
    if word.startswith((*PACKAGES, IMAGE, *URLS)):
        return True
    path, name, _ = _split(word, cwd)
    return path is not None and (
        path.is_dir() or bool(name) or path.suffix.lower() in (".json", ".jsonc", *SUFFIXES)
    )


def _of_word(
    word: str, cwd: Path, environ: Mapping[str, str], given: Given, *, lenient: bool
) -> tuple[Order, ...]:
    if word.startswith(PACKAGES):
        return (Order(word, (word,), str(cwd), package=package_order((word,))),)
    if word.startswith(IMAGE):
        return (Order(word, (word,), str(cwd), image=image_order((word,), cwd=cwd, environ=environ)),)
    if word.startswith(URLS):
        return (Order(word, (word,), str(cwd), url=word, transport="http"),)
    path, only, given_as = _split(word, cwd)
    if path is None:
        raise TargetNotFoundError(_unknown(word))
    try:
        return _of_path(path, only, given_as, environ=environ, given=given)
    except UsageError as error:
        if not lenient:
            raise
        return (Order(word, (word,), str(cwd), problem=str(error)),)


def _of_path(
    path: Path, only: str, given_as: str, *, environ: Mapping[str, str], given: Given
) -> tuple[Order, ...]:
    """The servers of a folder or a file that is there; ``given_as`` is how the user wrote it, ``only`` one of its names."""
    if path.is_dir() or path.name in (checkouts.PACKAGE_JSON, checkouts.PYPROJECT):
        if only:
            raise UsageError(f"{given_as}#{only}: only a file names several servers, {given_as} is a folder.")
        folder = path if path.is_dir() else path.parent
        return (checkouts.read_checkout(folder, (given_as,), environ=environ, given=given),)
    if path.suffix.lower() in SUFFIXES:
        if only:
            raise UsageError(f"{given_as}#{only}: a bundle holds one server, name it as {given_as}.")
        return (
            dataclasses.replace(
                read_bundle(path, environ=environ, given=given), name=given_as, words=(given_as,)
            ),
        )
    value = _content(path, given_as)
    if is_manifest(value):
        return (read_manifest(value, path.parent, name=given_as, words=(given_as,), given=given),)
    orders = _of_file(value, path, called=given_as, only=only, environ=environ, given=given)
    return tuple(_provisioned(order, environ) for order in orders)


def _of_file(
    value: Json, path: Path, *, called: str, only: str, environ: Mapping[str, str], given: Given
) -> tuple[Order, ...]:
    if is_server_json(value):
        return read_server_json(value, path, called=called, only=only, environ=environ, given=given)
    if servers_in(value) is not None:
        return read_client_config(value, path, called=called, only=only, environ=environ, given=given)
    servers = value.get("servers") if isinstance(value, dict) else None
    if not isinstance(servers, list) or not servers or not all(map(is_server_json, servers)):
        raise ConfigError(
            f"{path}: is neither a client's configuration (mcpServers, servers), nor a server.json (packages, "
            f"remotes), nor a bundle's {MANIFEST}."
        )
    # An answer of the registry: each server is called by its name, which has no colon.
    chosen, _, inner = only.partition(":")
    orders = tuple(
        order
        for one in servers[:_MOST_ORDERS]
        for name in [server_name(one)]
        if chosen in ("", name)
        for order in read_server_json(
            one, path, called=called, only=inner, environ=environ, given=given, prefix=f"{name}:"
        )
    )
    if not orders:
        raise UsageError(f"{path}#{only}: no server is called that.")
    return orders


def _content(path: Path, word: str) -> Json:
    content = read_file(path)
    if path.suffix.lower() not in (".json", ".jsonc", "") or not content.lstrip(
        b"\xef\xbb\xbf \t\r\n/"
    ).startswith(b"{"):
        told = shlex.quote(word)
        runner = RUNNERS.get(path.suffix, "")
        raise UsageError(
            f"{word}: is no file that names servers. Name the server's command after --, such as: -- {f'{runner} {told}'.strip()}"
        )
    return read_json(content, str(path))


def _of_command(command: tuple[str, ...], cwd: Path, environ: Mapping[str, str]) -> Order:
    order = Order(shlex.join(command), ("--", *command), str(cwd))
    image = image_order(command, cwd=cwd, environ=environ)
    if image is not None:  # its command has no values of -e
        return dataclasses.replace(
            order, name=shlex.join(image.command), words=("--", *image.command), image=image
        )
    return _provisioned(dataclasses.replace(order, command=command), environ)


def _of_image(command: tuple[str, ...], image: str, cwd: Path, environ: Mapping[str, str]) -> Order:
    order = image_order(command, image=image, cwd=cwd, environ=environ)
    name = shlex.join(command) or f"{IMAGE}{image}"
    return Order(name, ("--", *command) if command else (), str(cwd), image=order)


def _provisioned(order: Order, environ: Mapping[str, str]) -> Order:
    """An order whose command is ``npx``, ``uvx`` or ``pipx run``, as the package that this would install, where it is
    not installed here already."""
    if sys.platform != "linux":  # what is installed is found out in the container
        return order
    try:
        package = missing_package(order.command, cwd=Path(order.cwd), environ=environ)
    except UsageError:
        return order  # whoever resolves the command says what is wrong with it
    return order if package is None else dataclasses.replace(order, command=(), package=package)


def _with_arguments(order: Order, arguments: tuple[str, ...]) -> Order:
    """The order with further arguments at its end."""
    more = dataclasses.replace(order, words=(*order.words, "--", *arguments))
    if order.package is not None:
        package = dataclasses.replace(order.package, arguments=(*order.package.arguments, *arguments))
        return dataclasses.replace(more, package=package)
    if order.image is not None:
        image = dataclasses.replace(
            order.image,
            arguments=(*order.image.arguments, *arguments),
            command=(*order.image.command, *arguments),
        )
        return dataclasses.replace(more, image=image)
    if order.url:
        raise UsageError(f"{order.name}: a server behind an address takes no arguments.")
    return dataclasses.replace(more, command=(*order.command, *arguments))


def with_arguments(order: Order, arguments: Sequence[str]) -> Order:
    """The same server, given further arguments at the end of its own. Raises UsageError for an address."""
    return dataclasses.replace(_with_arguments(order, tuple(arguments)), words=order.words)


def _split(word: str, cwd: Path) -> tuple[Path | None, str, str]:
    """The file or folder of ``FILE`` or ``FILE#NAME``, the name, and the file as it was written.

    A file whose own name has a # in it is taken as a whole where it is there.
    """
    if "\0" in word or len(word) > 8192:
        return None, "", word
    at = len(word)
    while at > 0:
        written = word[:at]
        path = Path(os.path.normpath(cwd / os.path.expanduser(written)))
        if written and os.path.exists(path):
            return path, word[at + 1 :], written
        at = word.rfind("#", 0, at)
    return None, "", word


def _unknown(word: str) -> str:
    runner = RUNNERS.get(os.path.splitext(word)[1])
    if runner:
        return f"{word!r} is not a target. Name the server's command after --, such as: -- {runner} {word}"
    if "/" in word or word.endswith((".json", *SUFFIXES)) or "#" in word:
        at = word.rpartition("#")[0] or word
        if not word.startswith("@"):
            return f"{at}: there is no such file or folder. A target is npm:NAME, pypi:NAME, oci:IMAGE, a folder, a file or a URL."
    return (
        f"{word!r} is not a target. Write npm:{word} or pypi:{word} for a package, ./{word} for a folder, "
        f"or the server's command after --, such as: -- {word}"
    )
