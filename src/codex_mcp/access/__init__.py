"""Who may connect: no command of an agent gets to the server that runs it, nor to another one.

`peers` is the check that every endpoint uses, and the place to start; `verdicts` has its rules. `other_end` finds the
socket at the other end of a connection, `process_tree` the processes that hold it and their ancestors.
"""
