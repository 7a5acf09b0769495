"""`python control_socket.py with|without ARGUMENTS`: `codex-mcp ARGUMENTS`, which makes a control socket or none."""

import sys

from codex_mcp.entry import main
from codex_mcp.mcp.control.late import LateDoor


def joins_quietly(*_: object) -> None:
    """In place of making the socket."""


if __name__ == "__main__":
    if sys.argv.pop(1) == "without":
        LateDoor.joined = joins_quietly  # type: ignore[method-assign, assignment]
    sys.exit(main())
