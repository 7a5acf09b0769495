"""The messages of `codex app-server`, each described here once and decoded in `codex.reading`.

`requests` are ours, with their answers; `notifications` and `questions` are the app-server's; `items` has the parts
that they share.
"""
