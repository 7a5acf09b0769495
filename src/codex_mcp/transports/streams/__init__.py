"""Streams of numbered messages that a client can resume.

`message_ring` keeps the newest messages and decides what a slow reader misses; `live_stream` lets one reader wait for
new ones; `backlog` holds the core back for readers that fall behind; `answer_channel` is the channel of a stateless
request; `sse` writes a stream to its client. Start with `message_ring`.
"""
