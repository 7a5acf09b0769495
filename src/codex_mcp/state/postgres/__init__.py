"""The state in PostgreSQL, for servers on several machines: `codex-mcp[postgres]`, `--state postgresql://…`.

`store.open_store` opens a database and returns a `contract.Store`. `engine` runs statements and says what is wrong
with a database; `schema` has its tables. Start with `store`.
"""
