"""The commands `codex-mcp exec` (run a command on an exec-server) and `codex-mcp exec-server` (be one).

In: flags and the environment. Out: an exit code. `cmd_exec.py` and `cmd_exec_server.py` define the flags; a running
`codex-mcp exec` is in `session.py`, with the user's terminal in `terminal.py`.
"""
