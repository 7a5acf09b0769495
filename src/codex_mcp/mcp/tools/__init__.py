"""What each tool does.

`product` puts a server's methods and tools together. `dispatch` gives each call to its tool: those of `codex_tools`,
or of `team_tools` with a team. `specs` and `team_orders` turn arguments into what Codex is asked for; `tasks` has the
methods of the tasks extension. Start with `product`.
"""
