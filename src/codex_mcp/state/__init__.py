"""The state that the servers of a team share: which are alive, which may write about a thread, what was written.

`contract` defines it: leases and claims, records, journals, and thread owners. `keeper` renews a server's lease by the
rules of `lease`. `embedded/` is the implementation for one machine. Start with `contract`.
"""
