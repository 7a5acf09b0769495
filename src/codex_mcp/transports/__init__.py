"""Bytes to frames: stdin and stdout, child processes, HTTP requests, WebSockets.

A transport that carries JSON-RPC is an `rpc.channel.Channel` (`stdio`, `child`, `dialled_socket`); `framing` splits its
bytes. `websocket` accepts WebSockets for the exec-server. `http` is one HTTP request over ASGI; `web_limits` and
`connections` protect the web server below it. Start with `stdio`.
"""
