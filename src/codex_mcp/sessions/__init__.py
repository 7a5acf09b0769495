"""Conversations that callers name: `sessionId` of the tool `codex`.

A session is a name of one principal for a thread, kept until it is unused for long or too many others are newer.
`session` has the rules, `store` keeps sessions on disk (`database`), `locks` keeps servers apart, `sessions` uses all
of them. Start with `sessions`.
"""
