"""The client of the control socket: finds the living servers of a state folder and connects to them.

`server` has a connection; `failures` says in a sentence why there is none, or why it was lost.
"""
