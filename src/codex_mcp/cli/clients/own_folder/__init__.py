"""What `install`, `uninstall` and `migrate` keep in a folder of our own, CODEX_HOME/codex-mcp.

Only one of them changes files at a time (`lock`); copies of the files are in `backups`, and `records` knows what an
entry cannot tell: the address that we wrote, and the entry that was there before.
"""
