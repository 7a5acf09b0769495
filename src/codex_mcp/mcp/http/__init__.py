"""MCP over HTTP and WebSocket for many clients.

`app.HttpApp` is the ASGI application: `access_control` decides who may come in, then `mcp_endpoint`, `bus_endpoint` or
`ws_endpoint` takes a message to its session in the `hub`. An `HttpChannel` puts each answer on the right stream
(`transports/streams/`). `serve` starts and stops all of it. Start with `app`, then `hub` and `channel`.
"""
