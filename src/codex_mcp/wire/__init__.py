"""Message types, without behaviour: JSON-RPC (`jsonrpc`), MCP (`mcp`), the old `codex mcp-server` (`legacy`).

`app/` has the messages of `codex app-server`, `exec/` those of the exec-server. `rpc.codec` turns bytes into the
messages of `jsonrpc`; their parameters are decoded into the types here by the code that knows the method.
"""
