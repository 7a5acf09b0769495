"""The exec-server: runs processes, reads and writes files and makes HTTP requests for a remote agent.

In: JSON-RPC messages over WebSocket or stdio (`envelope.py`). Out: answers and notifications. A message goes from
`serve.py` (listening) to `connection.py` (order and limits) and by the table in `methods.py` to `processes/`, `files/`
or `http/`; `sandbox/` confines what they do. `server.py` keeps sessions across connections. To add a method, start at
`methods.py`; flags are in `startup.py`.
"""
