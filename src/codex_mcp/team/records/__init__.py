"""What is written about agents: records and journals in the store, `registry.json`, `audit.jsonl` and summaries.

`agent_store` is the only module that writes agents' records into the store, always under the agent's claim. The
`RecordWriter` calls it for the agents of this server, the `StoreSession` for agents of servers that are gone, and
`pruning` to delete old ones. Start reading at `store_session.StoreSession`.
"""
