"""Tools made from schemas, the default surroundings, and a judge of validity that knows nothing of the room
under test."""

from __future__ import annotations

from typing import Any

import pytest
from argument_schemas import Propose
from jsonschema.validators import Draft202012Validator, validator_for

from sandbox.arguments import Learned, Proposal, propose
from sandbox.model import Tool
from sandbox.workspace import Surroundings, furnish


@pytest.fixture(scope="session")
def here() -> Surroundings:
    """The default workspace's surroundings."""
    return furnish(None).surroundings


@pytest.fixture
def proposals(here: Surroundings) -> Propose:
    """Propose for a schema, or for its properties; every proposal is checked against the schema as it was written."""

    def make(
        schema: dict[str, Any],
        *,
        name: str = "do_something",
        description: str = "",
        learned: Learned | None = None,
        surroundings: Surroundings | None = None,
        seed: int = 0,
        limit: int = 64,
    ) -> list[Proposal]:
        tool = Tool.read({"name": name, "description": description, "inputSchema": schema})
        made = propose(tool, surroundings or here, learned or Learned(), seed=seed, limit=limit)
        validator = validator_for(schema, default=Draft202012Validator)(schema)
        for proposal in made:
            errors = list(validator.iter_errors(dict(proposal.arguments)))
            assert not errors, (proposal, errors[0].message)
        return made

    return make
