"""`codex-mcp rendezvous`: a registry of executors, and the relay between them and their harnesses.

`registry` decides who may register and reach what, `routes` which frame goes where; both are pure. `app` is the HTTP
side, `relay_socket` one WebSocket, `serve` runs it all. The relay cannot read what it carries. Start with `app`.
"""
