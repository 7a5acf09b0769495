"""The Codex TUI of a person on an agent of this server (`codex-mcp attach`).

`relay` is what the TUI talks to instead of Codex; `rules` decides what becomes of each of its requests.
"""
