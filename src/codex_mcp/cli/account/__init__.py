"""`codex-mcp login` and `codex-mcp logout`: the sign-in of the Codex that servers run here.

`codex_program.py` finds that Codex and puts it in the place of this process, so that it has the user's terminal.
"""
