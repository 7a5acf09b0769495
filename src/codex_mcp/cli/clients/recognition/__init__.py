"""What the command line of a client's entry starts: codex-mcp, a server that it replaces, or something else.

`install`, `uninstall`, `migrate` and `doctor` all ask `servers.recognised`, so that they cannot disagree. Start there;
`launchers` takes away what stands before a server (`npx -y`, `env A=b`), `codex_flags` translates the flags of Codex.
"""
