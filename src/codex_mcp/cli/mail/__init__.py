"""`codex-mcp mail`: team mail for people, in the files that agents, Claude Code and atm use.

`cmd_mail.py` has the flags and chooses the action; `sending.py` and `reading.py` perform it, `texts.py` is what they
print. No Codex and no server is needed or started.
"""
