"""The control socket of a server with a team: terminal commands and other servers of the state folder connect here.

`late` opens it with the server's membership in the store, `door` listens and admits, `connection` is one client with
its MCP sessions, `following` tells it what happens.
"""
