"""Pure. Settings of the HTTP server."""

from typing import Annotated

from msgspec import Struct

from codex_mcp.base.settings.kinds import (
    DAY,
    HOUR,
    INSTANT,
    MIB,
    MONTH,
    Setting,
    SlowReader,
    count,
    one_of,
    path,
    rate,
    seconds,
    size,
    switch,
    text,
    words,
)


class HttpSettings(Struct, frozen=True, kw_only=True):
    """Many clients over HTTP and WebSocket."""

    port: Annotated[
        int | None, Setting(count(0, 65535), "PORT", "serve HTTP and WebSocket on this port instead of stdio")
    ] = None
    """0 takes a free port and prints it."""

    host: Annotated[str, Setting(text, "ADDRESS", "the address to listen on")] = "127.0.0.1"
    """Any address but loopback needs `tokens`, `generate_token` or `jwks`, since a client of an agent can run
    commands."""

    tokens: Annotated[str | None, Setting(path, "FILE", "admit only bearer tokens of this file")] = None
    """Each line holds a principal and its token, or `sha256:` and the token's hash. The file is read again when it
    changes. A principal does not see what another one started."""

    generate_token: Annotated[
        bool, Setting(switch, "", "admit only a generated token, stored in CODEX_HOME/codex-mcp/token")
    ] = False
    """The first start makes the token."""

    jwks: Annotated[str | None, Setting(path, "FILE", "admit tokens signed by a key of this JWKS file")] = None
    """The token's `sub` is the principal."""

    jwt_issuer: Annotated[str | None, Setting(text, "ISSUER", "the issuer (iss) that these tokens must have")] = None
    jwt_audience: Annotated[str | None, Setting(text, "AUDIENCE", "the audience (aud) that they must have")] = None

    allowed_hosts: Annotated[
        tuple[str, ...], Setting(words, "NAME", "a further host name of this server, such as a proxy's")
    ] = ()
    """Repeat the flag for each name."""

    allowed_origins: Annotated[
        tuple[str, ...], Setting(words, "ORIGIN", "a web page that may call the server, as https://host:port")
    ] = ()
    """Repeat the flag for each origin. By default only the server's own pages may; pages on other ports of this machine
    must be named too."""

    tls_cert: Annotated[str | None, Setting(path, "FILE", "serve HTTPS with this certificate chain (PEM)")] = None
    tls_key: Annotated[str | None, Setting(path, "FILE", "the private key of the certificate")] = None

    max_sessions: Annotated[int, Setting(count(1, 1_000_000), "N", "HTTP sessions at once")] = 10_000
    """Some 20 KiB each; as many requests without a session may run. Beyond that idle sessions end, and if there are
    none, the next client is told to come back later (503)."""

    sessions_per_principal: Annotated[int, Setting(count(1, 1_000_000), "N", "HTTP sessions of one principal")] = 2000
    """So that one principal cannot take them all. Without tokens there is one principal, and no such limit."""

    sessions_per_address: Annotated[
        int, Setting(count(1, 1_000_000), "N", "HTTP sessions from one address other than this machine's")
    ] = 5000
    """More than for one principal, since a proxy carries several."""

    session_idle: Annotated[float, Setting(seconds(0.1, MONTH), "SECONDS", "end a session unused for this long")] = 3600
    """Only if nothing runs in it and no stream is open. Its id can be used again, and its threads go on."""

    strict_sessions: Annotated[bool, Setting(switch, "", "refuse session ids that the server did not make")] = False
    """Without it, the bus makes a session for any id."""

    quiet_time: Annotated[float, Setting(seconds(INSTANT, HOUR), "SECONDS", "answer longer HTTP calls as a stream")] = (
        10
    )
    """A call that ends sooner, and sends nothing before, is answered as plain JSON. Claude Code gives up on a POST
    without headers after 60 s, other clients after 300 s; all wait for a stream that has begun."""

    ping_interval: Annotated[
        float, Setting(seconds(INSTANT, HOUR), "SECONDS", "send a sign of life on a silent stream this often")
    ] = 15
    """Proxies cut a silent stream after 60 s."""

    max_body_bytes: Annotated[
        int, Setting(size(1024), "BYTES", "the longest body of a POST, and the longest message on a WebSocket")
    ] = 16 * MIB
    """Enough for a prompt with a few images. For more, use stdio."""

    session_inbox: Annotated[
        int, Setting(count(1, 100_000), "N", "unhandled messages of one session; beyond that the answer is 503")
    ] = 128

    subscriber_queue: Annotated[
        int, Setting(count(1, 100_000), "N", "unread messages after which slow_reader applies to a listener on the bus")
    ] = 128
    """It counts once a listener has read nothing for a second. A listener that reads may have `outbox_bytes` unread,
    however many messages that is."""

    slow_reader: Annotated[SlowReader, Setting(one_of(SlowReader), "POLICY", "what then happens to that listener")] = (
        SlowReader.DROP_OLDEST
    )
    """`drop-oldest` leaves out events and sends `codex/dropped` with their number, `disconnect` ends its stream, `wait`
    keeps up to `outbox_bytes` and then ends it. A stalled listener delays others by a second at most."""

    stall_timeout: Annotated[
        float, Setting(seconds(0.1, DAY), "SECONDS", "cut a connection that accepts no data for this long")
    ] = 60
    """Only while data waits to be sent. Most proxies allow a minute."""

    requests_per_second: Annotated[
        float, Setting(rate(0.1, 1_000_000), "NUMBER", "requests and WebSocket messages of one principal per second")
    ] = 500
    """On average; twice as many at once. Beyond that the answer is 429. Far more than an orchestrator needs, and a
    client in a loop does not starve the others. Without tokens there is no limit."""
