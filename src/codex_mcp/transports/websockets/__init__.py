"""WebSockets: bytes to whole messages, with limits, on top of the library `websockets`, which does no I/O here.

`socket` is one end of an open connection. `accepted` answers those who ask for one, `dialled` asks for one; `channel`
lets a task receive and send. Start with `socket`.
"""
