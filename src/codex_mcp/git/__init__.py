"""Git repositories: the worktrees of agents, and what a turn changed in a checkout.

git runs only in `running`, and never anything that an untrusted repository chooses (`guard`). Start reading at
`worktrees`, which makes and removes worktrees, and `looking`, which compares a checkout before and after a turn. All
functions block: call them in a thread.
"""
