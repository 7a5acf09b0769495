"""`python -m codex_mcp` is the command `codex-mcp`."""

import sys

from codex_mcp.entry import main

if __name__ == "__main__":
    sys.exit(main())
