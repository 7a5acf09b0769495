"""Pure. Requests to `codex app-server` that clients of the conversation methods cause, and what is read of its answers.

They concern conversations on disk, accounts, the configuration, commands and files.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Raw, Struct, UnsetType

OWN_SOURCES: Final = ("cli", "vscode", "exec", "appServer", "unknown")
"""Of conversations; all but subagents, whose conversations belong to others."""


class ThreadListParams(Struct, frozen=True, rename="camel"):
    """`recency_at`, because the app-server's cursor for `created_at` loses rows of the same second."""

    limit: int
    cursor: str | None
    sort_key: str = "recency_at"
    model_providers: tuple[str, ...] = ()
    source_kinds: tuple[str, ...] = OWN_SOURCES


class ThreadRow(Struct, frozen=True, rename="camel"):
    id: str
    path: str | None = None
    preview: str = ""
    created_at: float = 0


class ThreadPage(Struct, frozen=True, rename="camel"):
    data: list[ThreadRow] = []
    next_cursor: str | None = None


class SummaryParams(Struct, frozen=True, rename="camel"):
    conversation_id: str


class SummaryAnswer(Struct, frozen=True):
    summary: dict[str, object]


class RawTurn(Struct, frozen=True):
    id: str
    items: list[Raw] = []


class RawThread(Struct, frozen=True):
    turns: list[RawTurn] = []


class RawThreadAnswer(Struct, frozen=True):
    """The answer to `thread/read`."""

    thread: RawThread


class StartLogin(Struct, frozen=True, rename="camel", omit_defaults=True):
    type: str
    api_key: str | None = None


class StartLoginAnswer(Struct, frozen=True, rename="camel"):
    login_id: str = ""
    auth_url: str = ""


class CancelLogin(Struct, frozen=True, rename="camel"):
    login_id: str


class CancelLoginAnswer(Struct, frozen=True):
    status: str = ""


class ReadAuth(Struct, frozen=True, rename="camel"):
    include_token: bool
    refresh_token: bool


class AuthAnswer(Struct, frozen=True, rename="camel"):
    auth_method: str | None = None
    auth_token: str | None = None
    requires_openai_auth: bool | None = None


class SignedInAccount(Struct, frozen=True):
    email: str | None = None


class AccountAnswer(Struct, frozen=True):
    account: SignedInAccount | None = None


class ConfigEdit(Struct, frozen=True, rename="camel"):
    """null deletes the key."""

    key_path: str
    value: str | None
    merge_strategy: str = "replace"


class WriteConfig(Struct, frozen=True, rename="camel"):
    edits: list[ConfigEdit]
    reload_user_config: bool = True


class CommandExec(Struct, frozen=True, rename="camel", omit_defaults=True):
    command: list[str]
    process_id: str
    env: dict[str, str]
    cwd: str
    output_bytes_cap: int
    sandbox_policy: dict[str, object] | UnsetType = UNSET
    disable_timeout: bool = False


class ProcessId(Struct, frozen=True, rename="camel"):
    process_id: str


class SearchFiles(Struct, frozen=True, rename="camel", omit_defaults=True):
    query: str
    roots: list[str]
    cancellation_token: str | UnsetType = UNSET
