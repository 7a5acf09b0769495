"""Pure. Settings of the list of tools and of named sessions."""

from msgspec import Struct

from codex_mcp.base.settings.kinds import AS_CODEX, DAY, MONTH, Surface, count, group, one_of, seconds, setting, text


@group
class SessionSettings(Struct, frozen=True, kw_only=True):
    """Which tools clients see, and conversations with names (`sessionId`)."""

    tools: Surface | None = setting(
        None, one_of(Surface), "|".join(Surface), "which tools to offer", shown="`codex`; with `serve`, `team`"
    )
    """`codex` offers codex, codex-reply and codex_wait. `sessions` adds listSessions, review, websearch, ping and help;
    `team` adds the tools of `codex-mcp serve` instead; `all` offers everything that the command has. Every tool takes
    room in the context of the client's model."""

    default_model: str | None = setting(
        None,
        text,
        "NAME",
        "the model of calls that name none",
        variables=("CODEX_DEFAULT_MODEL",),
        shown=AS_CODEX,
    )
    """A call that gives a `profile`, or a model in its `config`, keeps that. Continued conversations keep theirs."""

    named_session_ttl: float = setting(
        DAY, seconds(1, 12 * MONTH, zero="never"), "SECONDS", "forget a named session unused for this long"
    )
    """Only its name is forgotten: its thread stays on disk, and codex-reply continues it."""

    max_named_sessions: int = setting(100, count(1, 100_000), "N", "named sessions of one principal")
    """Beyond that, the session unused for longest is forgotten, but none that has a running turn."""
