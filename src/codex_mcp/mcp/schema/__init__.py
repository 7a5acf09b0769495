"""What tools take and return, as pure values.

`fields` reads arguments and writes JSON Schema; `catalogue` lists the tools; `arguments` has their arguments as
Structs; `results` and `task_shapes` build the answers. The modules with `team_` are the same for a server with a
team, and are not loaded without one. Start with `catalogue`.
"""
