"""The conversation methods of `codex mcp-server` 0.42.0, for programs that drive Codex by JSON-RPC next to MCP.

Start with `methods`, the table of all methods. `conversations` keeps each client's conversations and their listeners,
`history` finds those on disk. A client is a `Caller`: this package knows nothing of MCP.
docs/conversations.md describes the methods.
"""
