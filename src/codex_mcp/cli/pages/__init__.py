"""The dashboard as a server of its own, for `codex-mcp dashboard` and `codex-mcp demo --team`."""
