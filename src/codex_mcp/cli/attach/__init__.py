"""`codex-mcp attach`: the Codex TUI on an agent that runs.

`cmd_attach` starts the TUI; `tui_socket` is the socket that the TUI connects to, and leads to the agent's server.
"""
