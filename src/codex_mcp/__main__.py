"""`python -m codex_mcp` is the command `codex-mcp`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder where the server was started: agents work there, and modules are imported later

    from codex_mcp.entry import main

    sys.exit(main())
