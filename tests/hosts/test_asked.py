"""The job that a server which asked for something at its start is given."""

from __future__ import annotations

import dataclasses

from sandbox.config import Settings
from sandbox.errors import ServerStartError
from sandbox.hosts.asked import asked_again
from sandbox.hosts.job import Job, Task
from sandbox.targets.dockerrun import ImageOrder
from sandbox.targets.orders import Ecosystem, PackageOrder

JOB = Job(Task.LIST, ("serve", "--a"), "/p", Settings(), notes=("of the file",))


def ended(said: str, message: str = "The server hung up.") -> ServerStartError:
    error = ServerStartError(message)
    error.said = said
    return error


def test_a_variable_is_added_to_those_of_the_user() -> None:
    given = dataclasses.replace(JOB, settings=Settings(env={"A": "b"}), refresh=True)
    again = asked_again(given, ended("API_KEY is required"), ())
    assert again is not None
    job, names = again
    assert names == ("API_KEY",)
    assert job.settings.env["A"] == "b"
    assert job.settings.env["API_KEY"]
    assert not job.refresh
    assert job.notes[0] == "of the file"
    assert "API_KEY" in job.notes[1]


def test_what_is_asked_for_one_at_a_time_is_told_in_one_note() -> None:
    first = asked_again(JOB, ended("A_KEY is required"), ())
    assert first is not None
    second = asked_again(first[0], ended("B_KEY is required"), first[1])
    assert second is not None
    assert set(second[0].settings.env) == {"A_KEY", "B_KEY"}
    assert len(second[0].notes) == 2
    assert "A_KEY, B_KEY." in second[0].notes[1]


def test_arguments_go_behind_those_of_the_server_wherever_it_is() -> None:
    error = ended("error: the following arguments are required: --root")
    more = ("--root", "/home/user/workspace")
    again = asked_again(JOB, error, ())
    assert again is not None
    assert again[0].command == ("serve", "--a", *more)
    package = PackageOrder(Ecosystem.NPM, "x", arguments=("--a",))
    again = asked_again(dataclasses.replace(JOB, package=package), error, ())
    assert again is not None
    assert again[0].package is not None
    assert again[0].package.arguments == ("--a", *more)
    image = ImageOrder(("oci:x", "--a"), "x", ("--a",))
    again = asked_again(dataclasses.replace(JOB, image=image), error, ())
    assert again is not None
    assert again[0].image is not None
    assert again[0].image.arguments == ("--a", *more)
    again = asked_again(dataclasses.replace(JOB, stands_for=("node", "x.js")), error, ())
    assert again is not None
    assert again[0].stands_for == ("node", "x.js", *more)


def test_a_usage_line_in_place_of_mcp_counts() -> None:
    again = asked_again(JOB, ended("", "Seen instead: no JSON: Usage: serve --db <path> (2 times)."), ())
    assert again is not None
    assert again[1] == ("--db",)


def test_nothing_new_is_no_reason_to_start_again() -> None:
    assert asked_again(JOB, ended("ready"), ()) is None
    given = dataclasses.replace(JOB, settings=Settings(env={"API_KEY": "wrong"}))
    assert asked_again(given, ended("API_KEY is not set"), ()) is None
    error = ended("API_KEY is not set")
    assert asked_again(JOB, error, ("API_KEY",)) is None
    assert str(error).endswith("Give them with: -e API_KEY=...")
