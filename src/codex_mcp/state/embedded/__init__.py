"""The state of one machine on disk: SQLite, used by one thread per database, and a file lock per server.

`store.open_store` opens a state folder and returns a `contract.Store`; `owners` stores thread owners in Codex's home.
`opening` creates, migrates and checks database files. Start with `store`.
"""
