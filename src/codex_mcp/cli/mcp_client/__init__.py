"""A small MCP client, with which `demo` and `doctor` use the server as other clients do.

`messages` has what it decodes. Start with `client`.
"""
