"""Commands with which a person looks after running agents: `approvals`, `show`, `watch`, `interrupt`,
`close`.

They reach the servers of the state folder by their control sockets. `finding.py` finds the agent that is meant and the
server that runs it.
"""
