"""Who may connect: requests with a token, an address and a rate that are allowed, and no command of an agent.

`access_control` decides about requests by the rules of `gate`, and `peers` about connections by those of `verdicts`:
start with these. `other_end` and `process_tree` find the processes behind a connection. `seal` signs what clients carry
for us, with the key from `server_secrets`.
"""
