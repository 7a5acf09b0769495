"""A team: agents with identities that are started, resumed, limited and closed, and whose records outlive the server.

In come calls from `mcp.tools` (an `Order` for a new agent, an `Assignment` for a turn); out go turns of `threads`, and
records, an audit and summaries in the state folder, which several servers may share. Start reading at `team.Team`,
which puts the parts together, and `agent.Agent`, the record of an agent. `roster.Member` is an agent that this server
runs.
"""
