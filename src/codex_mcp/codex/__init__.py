"""The core: one running Codex that does the agents' work.

In go descriptions of threads and turns (`core`: `ThreadSpec`, `TurnSpec`); out come typed notifications, the facts that
they mean for a turn, and questions. Start reading with `core`, the interface that both cores implement, then
`app_server`, which drives `codex app-server`, and `supervisor`, which starts and restarts its process.
"""
