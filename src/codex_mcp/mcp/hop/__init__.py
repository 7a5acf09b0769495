"""Calls for agents that another server of the state folder runs: passed on to it, once, over its control socket.

`hop` decides and is what tools and methods use, `links` has the connections; the other end is `mcp/control/forwarded`.
"""
