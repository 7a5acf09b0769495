"""The threads of a session as MCP resources: transcript, diff and rollout file. Start with `resources`."""
