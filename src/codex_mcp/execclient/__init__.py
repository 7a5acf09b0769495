"""Client of an exec-server: start processes and use files on another machine, across lost connections.

In: the server's address and `ExecServerClientConnectOptions`. Out: `Process` handles with ordered events, and
`RemoteFiles`. Start reading at `client.py`. The decisions are in `recovery.py` (when to reconnect, when to give up) and
`ordering.py` (which event comes next); `link.py` and `connection.py` carry them out.
"""
