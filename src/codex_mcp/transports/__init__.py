"""Bytes to frames: stdin and stdout, child processes, HTTP requests, WebSockets.

A transport that carries JSON-RPC is an `rpc.channel.Channel` (`stdio`, `child`, `websockets/channel`); `framing` splits
its bytes. `http` is one HTTP request over ASGI, which may become a WebSocket; `web_limits` and `connections` protect
the web server below it. Start with `stdio`.
"""
