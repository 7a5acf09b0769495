"""JSON-RPC over any channel: frames in, calls out.

`peer.Peer` is one end of a conversation. It reads frames from a `channel.Channel`, decodes them (`codec`), calls
handlers for requests and notifications, and matches answers to its own requests (`state`). Transports implement
`Channel`; those without a reader of their own keep what arrives in an `inbox`, and a `watermark` says when too much
waits. Start with `channel`, then `peer`.
"""
