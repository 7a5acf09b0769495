"""`codex-mcp demo`: an agent fixes a failing test while a person watches and decides.

Start with `cmd_demo.py`. `workshop.py` makes the repository, `show.py` passes events to the screen (`screen.py`)
and questions to a person (`person.py`), and `card.py` describes the result.
"""
