"""The processes of a session: start, output, input, signals, end.

In: `process/*` requests. Out: answers, and notifications with numbered output. `processes.py` implements the methods,
`process.py` is one running child, and `output.py` decides what is kept and sent.
"""
