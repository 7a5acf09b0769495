"""A scripted model: a loopback Responses API that plays a TOML script to the real Codex.

A script (`script`, `steps`) goes in; server-sent events come out. `playing` decides which steps answer a request,
`actions` turns them into bytes and pauses, `server` performs these. Start with `server`. docs/scripted-model.md
describes scripts for users.
"""
