"""`install`, `uninstall` and `migrate`: our server in the configuration files of MCP clients.

In: a client's name and flags. Out: its configuration file, edited, with a backup beside it. Start with `known.py`, the
table of the clients and their files; `config_text/` edits a file's bytes; `config_files.py` reads and writes files;
`recognition/` recognises the servers that `migrate` replaces.
"""
