"""The server of the contract: `server.py WORKSPACE GROUP`. Each of its tools does exactly one thing, and its hints say so,
but for the few that lie to be caught.

The standard library only: it runs on the python3 of whichever machine the box is made on. ``ground.py`` puts it into a folder
together with the catalogue's ``base.py`` and with ``hostile.py``.
"""

from __future__ import annotations

import sys
from importlib import import_module

if __name__ == "__main__":
    import_module(f"deeds.{sys.argv[2]}").server.run()
