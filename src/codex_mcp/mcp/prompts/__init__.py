"""Codex's custom prompts as MCP prompts: the user's own and those of a project. Start with `prompts`."""
