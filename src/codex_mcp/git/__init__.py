"""Git repositories: the worktrees of agents, and what a turn changed in a checkout.

git runs only in `running`, and never anything that an untrusted repository or an agent chooses (`guard`). Start reading
at `layout`, which shows the folders of a worktree, then `making`, `publishing` and `removing`; `looking` compares a
checkout before and after a turn. All functions block: call them in a thread.
"""
