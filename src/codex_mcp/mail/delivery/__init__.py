"""From an inbox to the prompt of an agent: what is offered, how it is quoted, and what is remembered about it.

`handover` takes unread mail from the store, wraps it in an `envelope` and records each step in the `ledger`, whose
states are in `transitions`. `loop_protection` stops agents that only answer each other. Start with `handover`.
"""
