"""Commands that read the state folder of a team: `threads`, `summary` and `audit`.

They start no Codex and no server, and work while servers run; only `threads --prune` writes. `folder.py` finds and
reads the folder, `agents.py` filters, sorts and formats its agents.
"""
