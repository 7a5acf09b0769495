"""The secure channel between a harness and an executor that reach each other only through a relay.

`handshake` agrees on keys (profile `noise_hybrid_ik_v1`), `frames` is what the relay sees, `stream` carries messages in
order over frames that may be lost, doubled or reordered. All of them are pure. Start with `stream`.
"""
