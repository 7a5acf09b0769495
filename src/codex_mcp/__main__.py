"""`python -m codex_mcp` is the command `codex-mcp`."""

import sys

from codex_mcp.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
