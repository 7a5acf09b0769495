"""Remote mode: the executor registers with a rendezvous and serves harnesses over one outgoing connection.

`executor` registers and reconnects, `streams` answers handshakes and distributes frames, `stream_transport` lets a
stream carry a client's connection, `forward` relays streams to another exec-server. Start with `executor`.
"""
