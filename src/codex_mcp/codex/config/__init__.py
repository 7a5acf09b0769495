"""The configuration that is laid over Codex's config.toml.

In go `-c` overrides, profiles and the arguments of a call; out come the settings of the core and of each thread. Start
reading with `overrides`, which defines the order of precedence.
"""
