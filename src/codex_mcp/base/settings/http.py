"""Pure. Settings of the HTTP server."""

from msgspec import Struct

from codex_mcp.base.settings.kinds import (
    DAY,
    HOUR,
    INSTANT,
    MIB,
    MONTH,
    SlowReader,
    count,
    group,
    one_of,
    path,
    rate,
    seconds,
    setting,
    size,
    switch,
    text,
    words,
)


@group
class HttpSettings(Struct, frozen=True, kw_only=True):
    """Many clients over HTTP and WebSocket."""

    port: int | None = setting(None, count(0, 65535), "PORT", "serve HTTP and WebSocket on this port instead of stdio")
    """0 takes a free port and prints it."""

    host: str = setting("127.0.0.1", text, "ADDRESS", "the address to listen on")
    """Any address but loopback needs `tokens`, `generate_token` or `jwks`, since a client of an agent can run
    commands."""

    tokens: str | None = setting(None, path, "FILE", "admit only bearer tokens of this file")
    """Each line holds a principal and its token, or `sha256:` and the token's hash. The file is read again when it
    changes. A principal does not see what another one started."""

    generate_token: bool = setting(
        False, switch, "", "admit only a generated token, stored in CODEX_HOME/codex-mcp/token"
    )
    """The first start makes the token."""

    jwks: str | None = setting(None, path, "FILE", "admit tokens signed by a key of this JWKS file")
    """The token's `sub` is the principal."""

    jwt_issuer: str | None = setting(None, text, "ISSUER", "the issuer (iss) that these tokens must have")

    jwt_audience: str | None = setting(None, text, "AUDIENCE", "the audience (aud) that they must have")

    shared_history: bool = setting(
        False, switch, "", "let every client list and resume all conversations of this CODEX_HOME"
    )
    """Without it, a principal sees only its own. Over stdio the history is the user's own, and this has no effect."""

    private_sessions: bool = setting(
        False, switch, "", "let a conversation be seen and continued only by the session that started it"
    )
    """By default other sessions of the same principal may continue it by its id, so that a client that reconnects keeps
    its work. With this, only the handshake revisions of MCP are spoken, because the stateless one has no sessions. A
    session that begins again with its id gets its conversations back."""

    allowed_hosts: tuple[str, ...] = setting((), words, "NAME", "a further host name of this server, such as a proxy's")
    """Repeat the flag for each name."""

    allowed_origins: tuple[str, ...] = setting(
        (), words, "ORIGIN", "a web page that may call the server, as https://host:port"
    )
    """Repeat the flag for each origin. By default only the server's own pages may; pages on other ports of this machine
    must be named too."""

    tls_cert: str | None = setting(None, path, "FILE", "serve HTTPS with this certificate chain (PEM)")

    tls_key: str | None = setting(None, path, "FILE", "the private key of the certificate")

    max_sessions: int = setting(10_000, count(1, 1_000_000), "N", "HTTP sessions at once")
    """Some 20 KiB each; as many requests without a session may run. Beyond that idle sessions end, and if there are
    none, the next client is told to come back later (503)."""

    sessions_per_principal: int = setting(2000, count(1, 1_000_000), "N", "HTTP sessions of one principal")
    """So that one principal cannot take them all. Without tokens there is one principal, and no such limit."""

    sessions_per_address: int = setting(
        5000, count(1, 1_000_000), "N", "HTTP sessions from one address other than this machine's"
    )
    """More than for one principal, since a proxy carries several."""

    session_idle: float = setting(3600, seconds(0.1, MONTH), "SECONDS", "end a session unused for this long")
    """Only if nothing runs in it and no stream is open. Its id can be used again, and its threads go on."""

    strict_sessions: bool = setting(False, switch, "", "refuse session ids that the server did not make")
    """Without it, the bus makes a session for any id."""

    quiet_time: float = setting(10, seconds(INSTANT, HOUR), "SECONDS", "answer longer HTTP calls as a stream")
    """A call that ends sooner, and sends nothing before, is answered as plain JSON. Claude Code gives up on a POST
    without headers after 60 s, other clients after 300 s; all wait for a stream that has begun."""

    ping_interval: float = setting(
        15, seconds(INSTANT, HOUR), "SECONDS", "send a sign of life on a silent stream this often"
    )
    """Proxies cut a silent stream after 60 s."""

    max_body_bytes: int = setting(
        16 * MIB, size(1024), "BYTES", "the longest body of a POST, and the longest message on a WebSocket"
    )
    """Enough for a prompt with a few images. For more, use stdio."""

    session_inbox: int = setting(
        128, count(1, 100_000), "N", "unhandled messages of one session; beyond that the answer is 503"
    )

    subscriber_queue: int = setting(
        128, count(1, 100_000), "N", "unread messages after which slow_reader applies to a listener on the bus"
    )
    """It counts once a listener has read nothing for a second. A listener that reads may have `outbox_bytes` unread,
    however many messages that is."""

    slow_reader: SlowReader = setting(
        SlowReader.DROP_OLDEST, one_of(SlowReader), "|".join(SlowReader), "what then happens to that listener"
    )
    """`drop-oldest` leaves out events and sends `codex/dropped` with their number, `disconnect` ends its stream, `wait`
    keeps up to `outbox_bytes` and then ends it. A stalled listener delays others by a second at most."""

    stall_timeout: float = setting(
        60, seconds(0.1, DAY), "SECONDS", "cut a connection that accepts no data for this long"
    )
    """Only while data waits to be sent. Most proxies allow a minute."""

    requests_per_second: float = setting(
        500,
        rate(0.1, 1_000_000),
        "NUMBER",
        "requests and WebSocket messages of one principal per second; 0 is no limit",
    )
    """On average; twice as many at once. Beyond that the answer is 429. Far more than an orchestrator needs, and a
    client in a loop does not starve the others. Without tokens there is no limit."""
