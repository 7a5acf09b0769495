"""How an agent is set up: its role, its agent file, and what it is told about itself.

In come settings, files and calls; out come values that become a thread's settings and instructions. `roles` and
`agent_file` can be read on their own; `context` is what the model is told.
"""
