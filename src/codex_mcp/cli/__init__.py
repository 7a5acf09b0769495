"""The command line.

In: the words of a command. Out: an exit code, and text or JSON on stdout. `main.py` finds the command and imports its
module: `cmd_*.py` here, or in one of the folders. A command has a DESCRIPTION, `configure` for its flags, and
`run`. `serving.py` is shared by the commands that serve MCP, `output.py` and `tables.py` by those that print.
"""
