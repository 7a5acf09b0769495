"""The messages of `codex app-server`, each described and decoded here once.

`requests` are ours, with their answers; `notifications` and `questions` are the app-server's (`read_notification`,
`read_question`); `items` has the parts that they share.
"""
