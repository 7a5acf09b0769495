"""An old Codex (0.103 to 0.153) as a core, by its command `codex mcp-server`.

It gives its listener the same typed values as the app-server's core. Start reading with `core`, then `thread`, which
explains how an old Codex shares one queue between calls.
"""
