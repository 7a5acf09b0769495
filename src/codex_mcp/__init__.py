"""An MCP server in front of the real Codex."""

__version__ = "0.2.0"
