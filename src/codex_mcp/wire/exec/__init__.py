"""The messages of the exec-server protocol, as Codex 0.166.0 speaks it, for server and client.

`protocol.py` has the handshake, processes and error codes; `files.py`, `http.py` and `sandbox.py` the rest of the
message types. Each message is described once.
"""
