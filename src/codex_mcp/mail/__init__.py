"""Team mail in the files of Claude Code and atm: read, written, watched; independent of Codex.

In: addresses and texts. Out: messages, and records in `<team>/inboxes/<agent>.json` that Claude Code and atm read.
`store.MailStore` is the entrance; `message` reads and writes one record, `files/` changes a file under both locks,
`outbox` repeats what was lost, `watch` tells when an inbox changed, and `delivery/` hands mail to an agent and records
how far it came. Start with `store`.
"""
