"""A `tools/call` while it runs.

`call` connects one request of a client with its turn: progress, events, questions, cancellation. `follower` waits for
the turn and builds the result. `waiting` is `codex_wait`, with the views of `team_waiting` for agents of a team.
Start with `call`.
"""
