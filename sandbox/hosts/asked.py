"""A server that ended at its start because nobody gave it something: the job with a made-up value for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sandbox.errors import ServerStartError
from sandbox.hosts.job import Job
from sandbox.targets.needs import asked_for, filled, from_refusal, made_up_notes


def asked_again(
    job: Job, error: ServerStartError, tried: Sequence[str]
) -> tuple[Job, tuple[str, ...]] | None:
    """The job with made-up values for what the server asked for when it ended, and their names.

    None where it asked for nothing, or for nothing new: then the error is told what the user can give. ``tried`` are
    names that were made up before.
    """
    said = from_refusal(error.said) or from_refusal(str(error))  # the error quotes what came in place of MCP
    needs = [need for need in said if need.name not in job.variables]
    new = [need for need in needs if need.name not in tried]
    variables, words, names = filled(new)
    if not names:
        hint = asked_for(needs)
        if hint:
            error.args = (f"{error}\n{hint}",)
        return None
    before = made_up_notes(tried)
    notes = (*(note for note in job.notes if note not in before), *made_up_notes((*tried, *names)))
    settings = dataclasses.replace(job.settings, env={**job.settings.env, **variables})
    again = dataclasses.replace(job, settings=settings, notes=notes, refresh=False)
    return (_with_words(again, words) if words else again), names


def _with_words(job: Job, words: tuple[str, ...]) -> Job:
    """The job with further arguments for its server."""
    job = dataclasses.replace(job, command=(*job.command, *words))
    if job.image is not None:
        return dataclasses.replace(
            job, image=dataclasses.replace(job.image, arguments=(*job.image.arguments, *words))
        )
    if job.package is not None:
        return dataclasses.replace(
            job, package=dataclasses.replace(job.package, arguments=(*job.package.arguments, *words))
        )
    return dataclasses.replace(job, stands_for=(*job.stands_for, *words) if job.stands_for else ())
