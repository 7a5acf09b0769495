"""Pure. Our entry in a client's file: a new one, and changes of one that is there.

A change touches only what must change: the words that name our program, `mcp-server` or `serve`, the address. `env`,
flags, time limits, comments and keys that we do not know stay; between a command and an address, only what belongs to
the other kind goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.kinds import TABLE
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.cli.clients.config_text.documents import read, with_entry, without_entry
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.entries import connection_of, shape_of, words_of
from codex_mcp.cli.clients.known import Client
from codex_mcp.cli.clients.recognition.servers import Ours

OF_COMMANDS: Final = ("command", "args", "env", "environment", "envFile", "cwd")
OF_ADDRESSES: Final = (
    "url", "httpUrl", "headers", "http_headers", "env_http_headers", "bearer_token_env_var", "requestInit",
)  # fmt: skip

OF_TEAMS: Final = frozenset(
    {"--resume"}.union(*(TABLE[name].flags_for(name) for name in TeamSettings.__struct_fields__))
)
"""Flags that `serve` has and `mcp-server` has not."""


class Program(Struct, frozen=True):
    """A server that the client starts."""

    words: Sequence[str]
    """Our program."""

    team: bool | None = None
    """Whether it runs a team; None leaves an entry as it is."""

    is_named: bool = False
    """The caller has said how it is started, which an entry must follow."""

    @property
    def command(self) -> str:
        return "serve" if self.team else "mcp-server"


class Address(Struct, frozen=True):
    """A server that runs already."""

    url: str
    fields: Mapping[str, object] = {}
    """How the client sends its token."""


Wanted: TypeAlias = Program | Address


def entry(client: Client, command: Sequence[str]) -> dict[str, object]:
    """What this client is told about a server that it starts with this command."""
    words = {key: value for (key,), value in client.shape.fields(command).items()}
    return _type_first({**words, **client.stdio})


def entry_of_url(client: Client, url: str) -> dict[str, object]:
    """What this client is told about a server at this address. Raises Refused."""
    if client.url is None:
        raise Refused(
            f"cannot use --http for {client.title}: its file has no servers with an address; leave --http out"
        )
    return _type_first({client.url: url, **client.http})


def token_fields(client: Client, token: str) -> dict[str, object]:
    """What stands beside an address whose server wants this token."""
    return {client.headers: {"Authorization": f"Bearer {token}"}}


def variable_fields(client: Client, name: str) -> dict[str, object]:
    """What stands beside an address whose token is in this variable of the client's environment. Raises Refused."""
    if client.variable_key:
        return {client.variable_key: name}
    if not client.variable:
        raise Refused(f"cannot use --token-env for {client.title}: its file has no variables; use --token-file")
    return {client.headers: {"Authorization": f"Bearer {client.variable.replace('%', name)}"}}


def _type_first(fields: dict[str, object]) -> dict[str, object]:
    return {"type": fields["type"], **fields} if "type" in fields else fields


def new_entry(client: Client, wanted: Wanted) -> dict[str, object]:
    """Raises Refused."""
    if isinstance(wanted, Program):
        return entry(client, [*wanted.words, wanted.command])
    return {**entry_of_url(client, wanted.url), **wanted.fields}


def renewed_words(words: Sequence[str], ours: Ours, wanted: Program, *, is_found: bool) -> list[str]:
    """The command line of our entry, with our program. `is_found` says that its own words for it can stay.

    Raises Refused.
    """
    serving = words[ours.serving] if ours.serving is not None else None
    command = wanted.command if wanted.team is not None else serving or wanted.command
    if serving is not None and command == "mcp-server":
        _check_flags(words[ours.serving or 0 :])
    if ours.start is None and wanted.is_named:
        if ours.serving is None:
            raise Refused(
                f"cannot use --command: the entry starts codex-mcp through {ours.through or words[0]}; change it "
                "yourself, or replace it with --force"
            )
        return [*wanted.words, command, *words[ours.serving + 1 :]]
    if ours.start is None or is_found:
        if serving is not None and ours.serving is not None:
            return [*words[: ours.serving], command, *words[ours.serving + 1 :]]
        if wanted.team and (ours.start is None or words[ours.start].endswith("-server")):
            raise Refused(
                f"cannot add --team: the entry starts codex-mcp through {ours.through or words[0]}; change it "
                "yourself, or replace it with --force"
            )
        return [*words, command] if ours.start is not None and not words[ours.start].endswith("-server") else [*words]
    rest = [*words[ours.end :]]
    if ours.serving is not None:
        rest[ours.serving - ours.end] = command
    else:
        rest.insert(0, command)
    return [*words[: ours.start], *wanted.words, *rest]


def _check_flags(words: Sequence[str]) -> None:
    """Raises Refused if `mcp-server` would not start with these."""
    for word in words:
        if word.partition("=")[0].replace("--no-", "--", 1) in OF_TEAMS:
            raise Refused(
                f"cannot use --no-team: the entry has {word}, which only `codex-mcp serve` knows; remove it from the "
                "entry, or replace the entry with --force"
            )


def with_words(client: Client, data: bytes, path: Sequence[str], words: Sequence[str]) -> bytes:
    """The file with this command line in the entry at this path. Raises Unreadable or Uneditable."""
    now = at(read(client.form, data), path)
    if words_of(now) == [*words]:
        return data
    for where, value in shape_of(now).fields(words).items():
        data = with_entry(client.form, data, (*path, *where), value)
    return data


def with_address(client: Client, data: bytes, path: Sequence[str], wanted: Address) -> bytes:
    """The file with this address in the entry at this path. Raises Unreadable, Uneditable or Refused."""
    fields = new_entry(client, wanted)
    data = _set(client, data, path, fields, always=(*wanted.fields, *_connecting(client)))
    gone = [key for key in (*OF_COMMANDS, *OF_ADDRESSES, "type") if key not in fields]
    return _without(client, data, path, gone)


def with_command(client: Client, data: bytes, path: Sequence[str], wanted: Program) -> bytes:
    """The file with our program in the place of an address. Raises Unreadable or Uneditable."""
    fields = new_entry(client, wanted)
    data = _set(client, data, path, fields, always=("command", "args", "type"))
    return _without(client, data, path, [key for key in (*OF_ADDRESSES, "type") if key not in fields])


def _connecting(client: Client) -> tuple[str, ...]:
    return (client.url or "url", "type")


def _set(
    client: Client, data: bytes, path: Sequence[str], fields: Mapping[str, object], *, always: Iterable[str]
) -> bytes:
    """With these fields; what the entry has already stays, but for those that must change."""
    now = at(read(client.form, data), path)
    holders = {key: () if key == client.limit else connection_of(now) for key in fields}
    for key, value in fields.items():
        where = (*holders[key], key)
        if key in always or at(now, where) is None:
            data = with_entry(client.form, data, (*path, *where), value)
    return data


def _without(client: Client, data: bytes, path: Sequence[str], keys: Iterable[str]) -> bytes:
    inside = connection_of(at(read(client.form, data), path))
    holder = at(read(client.form, data), (*path, *inside))
    for key in keys:
        if isinstance(holder, Mapping) and key in holder:
            data = without_entry(client.form, data, (*path, *inside, key))
    return data
