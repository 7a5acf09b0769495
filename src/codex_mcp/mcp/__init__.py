"""MCP: one client and its calls, in both eras of the protocol.

JSON-RPC messages come in by a peer (`rpc/`), over stdio (`serve`) or HTTP (`http/`). `methods` has the table of
methods; `session` holds a client's running calls; `tools/` is what each tool does, with `threads/` and `team/` below.
Results, progress, events and questions go out by the same peer. `shutdown` ends a server in order. Start with
`methods`, then `tools/dispatch`.
"""
