"""The table of all conversation methods: what each takes, and who answers it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from codex_mcp.base.settings.groups import Settings
from codex_mcp.conversations.caller import Caller
from codex_mcp.conversations.conversations import Conversations, MakeSpec
from codex_mcp.conversations.history.history import ConversationHistory
from codex_mcp.conversations.server.accounts import Accounts
from codex_mcp.conversations.server.configuration import Configuration
from codex_mcp.conversations.server.one_off import OneOffCommands
from codex_mcp.conversations.server.utilities import Utilities
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import conversations as wire

Method: TypeAlias = tuple[type[wire.Params], Callable[[Caller, Any], Coroutine[Any, Any, object]]]


class ConversationMethods:
    def __init__(
        self, threads: Threads, settings: Settings, make_spec: MakeSpec, *, takes_tool_threads: bool = True
    ) -> None:
        self.conversations = Conversations(threads, settings, make_spec, takes_tool_threads=takes_tool_threads)
        self._accounts = Accounts(threads, settings.core.codex_home)
        self._table = {
            **_conversations(self.conversations, ConversationHistory(self.conversations)),
            **_accounts(self._accounts),
            **_utilities(threads, settings),
        }

    def handle(self, method: str, params: Raw, caller: Caller) -> Coroutine[Any, Any, object]:
        """The coroutine returns the answer. Raises RequestFailed for params that cannot be read."""
        kind, answer = self._table[method]
        try:
            return answer(caller, msgspec.json.decode(params, type=kind))
        except msgspec.MsgspecError as exc:
            raise invalid_params(str(exc)) from exc

    def caller_came(self, caller: Caller) -> None:
        self._accounts.caller_came(caller)

    def caller_gone(self, caller: Caller, *, for_good: bool = False) -> None:
        """`for_good`: its owner does not return."""
        self._accounts.caller_gone(caller)
        self.conversations.caller_gone(caller)
        if for_good:
            self.conversations.owner_gone(caller.owner)


def _conversations(conversations: Conversations, history: ConversationHistory) -> dict[str, Method]:
    return {
        "newConversation": (wire.NewConversation, conversations.new),
        "sendUserMessage": (wire.SendUserMessage, conversations.send_message),
        "sendUserTurn": (wire.SendUserTurn, conversations.send_turn),
        "interruptConversation": (wire.Conversation, conversations.interrupt),
        "addConversationListener": (wire.Conversation, conversations.add_listener),
        "removeConversationListener": (wire.Subscription, conversations.remove_listener),
        "listConversations": (wire.ListConversations, history.list_page),
        "resumeConversation": (wire.ResumeConversation, history.resume),
        "archiveConversation": (wire.ArchiveConversation, history.archive),
        "getConversationSummary": (wire.GetSummary, history.summary),
    }


def _accounts(accounts: Accounts) -> dict[str, Method]:
    return {
        "loginApiKey": (wire.LoginApiKey, accounts.login_api_key),
        "loginChatGpt": (wire.NoParams, accounts.login_chatgpt),
        "cancelLoginChatGpt": (wire.Login, accounts.cancel_login),
        "logoutChatGpt": (wire.NoParams, accounts.logout),
        "getAuthStatus": (wire.GetAuthStatus, accounts.status),
        "userInfo": (wire.NoParams, accounts.user_info),
    }


def _utilities(threads: Threads, settings: Settings) -> dict[str, Method]:
    configuration = Configuration(threads, settings.core.codex_home)
    utilities = Utilities(threads, settings.core.codex_home)
    return {
        "getUserSavedConfig": (wire.NoParams, configuration.read_saved),
        "setDefaultModel": (wire.SetDefaultModel, configuration.set_default_model),
        "gitDiffToRemote": (wire.GitDiffToRemote, utilities.git_diff),
        "fuzzyFileSearch": (wire.FuzzyFileSearch, utilities.search),
        "execOneOffCommand": (wire.ExecOneOffCommand, OneOffCommands(threads, settings.core).run),
    }
