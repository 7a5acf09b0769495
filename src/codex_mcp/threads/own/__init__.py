"""What Codex does on its own initiative: goals, turns that it begins, and sub-agents.

`unasked` follows it and stops it, `adopting` makes turns of it, `subagents` counts the tokens of sub-agents,
`reviews` those of approvals that Codex reviews itself,
`family` knows whose sub-agent a thread is, and `audience` hears what no caller does. Start with `own_work`.
"""
