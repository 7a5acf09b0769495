"""Remote mode: the executor registers with a rendezvous and serves harnesses over one outgoing connection.

`executor` registers and reconnects, `streams` answers handshakes and distributes frames, `stream_transport` lets a
stream carry a client's connection, `forward` relays streams to another exec-server. `sign_in` finds what proves to
the registry who registers (`agent_task`, `agent_identity`, `sealed_box`: an Agent Identity). Start with `executor`.
"""
