"""``${NAME}`` and ``{name}`` in words of a file: filled once, from left to right, never in what was filled in.

So a variable that names itself, or two that name each other, are no cycle: what they hold stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sandbox.errors import ConfigError
from sandbox.targets.documents import MOST_WORD

DOLLAR = re.compile(r"\$\{([^{}$]{1,200})\}")
"""``${...}``, the name in group 1."""

BRACES = re.compile(r"\{([^{}]{1,200})\}")
"""``{...}``, the name in group 1."""

Look = Callable[[str], "str | None"]
"""What a name stands for, None where it stays as it is."""


def fill(text: str, pattern: re.Pattern[str], look: Look, where: str) -> str:
    """The text with every name replaced by what it stands for. Raises ConfigError where that grows too long."""
    parts: list[str] = []
    size = at = 0
    for match in pattern.finditer(text):
        found = look(match[1])
        parts += [text[at : match.start()], match[0] if found is None else found]
        size += len(parts[-1]) + len(parts[-2])
        at = match.end()
        if size >= MOST_WORD:
            break
    if size + len(text) - at >= MOST_WORD:
        raise ConfigError(f"{where}: longer than {MOST_WORD >> 10} KB when its variables are filled in.")
    return "".join([*parts, text[at:]])
