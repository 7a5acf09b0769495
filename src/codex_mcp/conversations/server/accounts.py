"""The sign-in of the server: it belongs to whoever runs it, so others need administration to change it.

Notifications about it go to the callers that may see it and have used a conversation method. While a request changes
the sign-in, they wait until it is answered, as in 0.42.0.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, TypeVar

from msgspec import UNSET

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import read_if_there
from codex_mcp.codex.core import CoreError
from codex_mcp.conversations.caller import Caller
from codex_mcp.conversations.refusals import SHOWN, failed, refused
from codex_mcp.conversations.server.id_token import email_in
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.rpc.peer import call_once_answered
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import conversations as wire
from codex_mcp.wire.app.client_requests import (
    AccountAnswer,
    AuthAnswer,
    CancelLogin,
    CancelLoginAnswer,
    ReadAuth,
    StartLogin,
    StartLoginAnswer,
)
from codex_mcp.wire.app.notifications import OtherNotification
from codex_mcp.wire.app.requests import AccountRead

Answer = TypeVar("Answer")

ACCOUNT: Final = "account/updated"
LOGIN: Final = "account/login/completed"

MODES: Final[Mapping[object, str]] = {"apikey": "ApiKey", "chatgpt": "ChatGPT"}
"""The words for `auth_mode`."""


def require_administration(caller: Caller, method: str) -> None:
    if not caller.may_administer():
        raise refused(
            f"{method} changes the server for everyone and needs administration: "
            "put the word admin after the principal's token in the token file"
        )


class Accounts:
    def __init__(self, threads: Threads, codex_home: str) -> None:
        self._threads = threads
        self._sign_in = os.path.join(codex_home, "auth.json")
        self._callers: set[Caller] = set()
        self._changing = 0
        self._held: list[Callable[[], None]] = []
        threads.listen_to_core(self._core_told)

    def caller_came(self, caller: Caller) -> None:
        self._callers.add(caller)

    def caller_gone(self, caller: Caller) -> None:
        self._callers.discard(caller)

    async def login_api_key(self, caller: Caller, params: wire.LoginApiKey) -> object:
        require_administration(caller, "loginApiKey")
        if not params.api_key.strip():
            raise invalid_params("apiKey must not be empty")
        async with self._change():
            await self._request("account/login/start", StartLogin("apiKey", params.api_key), "failed to save api key")
        return {}

    async def login_chatgpt(self, caller: Caller, params: wire.NoParams) -> wire.LoginStarted:
        require_administration(caller, "loginChatGpt")
        async with self._change():
            started = await self._request(
                "account/login/start", StartLogin("chatgpt"), "failed to start login server", StartLoginAnswer
            )
        return wire.LoginStarted(login_id=started.login_id, auth_url=started.auth_url)

    async def cancel_login(self, caller: Caller, params: wire.Login) -> object:
        require_administration(caller, "cancelLoginChatGpt")
        not_found = refused(f"login id not found: {params.login_id[:SHOWN]}")
        async with self._change():
            try:
                core = await self._threads.supervisor.core()
                answer = await core.request("account/login/cancel", CancelLogin(params.login_id), CancelLoginAnswer)
            except CoreError as exc:
                raise (not_found if str(exc).startswith("invalid login id") else failed(str(exc))) from exc
            except Refused as exc:
                raise failed(str(exc)) from exc
            if answer.status == "notFound":
                raise not_found
        return {}

    async def logout(self, caller: Caller, params: wire.NoParams) -> object:
        require_administration(caller, "logoutChatGpt")
        async with self._change():
            await self._request("account/logout", UNSET, "logout failed")
        return {}

    async def status(self, caller: Caller, params: wire.GetAuthStatus) -> wire.AuthStatus:
        """The token is for the local user alone."""
        asked = ReadAuth(bool(params.include_token) and caller.is_local, bool(params.refresh_token))
        auth = await self._request("getAuthStatus", asked, "failed to read the sign-in", AuthAnswer)
        return wire.AuthStatus(
            auth_method=auth.auth_method or UNSET,
            auth_token=(caller.is_local and auth.auth_token) or UNSET,
            requires_openai_auth=auth.requires_openai_auth is not False,
        )

    async def user_info(self, caller: Caller, params: wire.NoParams) -> wire.UserInfo:
        if not caller.may_administer():
            return wire.UserInfo()
        if email := await in_thread(self._known_email):  # Codex itself would ask a server
            return wire.UserInfo(alleged_user_email=email)
        answer = await self._request("account/read", AccountRead(), "failed to read the account", AccountAnswer)
        return wire.UserInfo(alleged_user_email=None if answer.account is None else answer.account.email)

    def _known_email(self) -> str | None:
        try:
            return email_in(read_if_there(self._sign_in) or b"")
        except OSError:
            return None

    async def _request(
        self,
        method: str,
        params: object,
        what_failed: str,
        answer_type: type[Answer] = dict[str, object],  # type: ignore[assignment]
    ) -> Answer:
        try:
            core = await self._threads.supervisor.core()
            return await core.request(method, params, answer_type)
        except (CoreError, Refused) as exc:
            raise failed(f"{what_failed}: {exc}") from exc

    @contextlib.asynccontextmanager
    async def _change(self) -> AsyncIterator[None]:
        self._changing += 1
        try:
            yield
        finally:
            self._changing -= 1
            call_once_answered(self._tell_held)

    def _core_told(self, told: OtherNotification) -> None:
        params = told.params
        if told.method == ACCOUNT:
            mode = params.get("authMode")
            method = mode if isinstance(mode, str) else UNSET
            change = wire.AuthStatusChange(auth_method=method, auth_mode=MODES.get(mode, UNSET))
            self._tell("authStatusChange", change)
        elif told.method == LOGIN and isinstance(login_id := params.get("loginId"), str):
            error = params.get("error")
            complete = wire.LoginComplete(
                login_id=login_id,
                same_login_id=login_id,
                success=params.get("success") is True,
                error=error if isinstance(error, str) else UNSET,
            )
            self._tell("loginChatGptComplete", complete)

    def _tell(self, method: str, params: object) -> None:
        def tell() -> None:
            for caller in tuple(self._callers):
                if caller.may_administer():
                    caller.notify(method, params)

        self._held.append(tell)
        self._tell_held()

    def _tell_held(self) -> None:
        while self._held and not self._changing:
            self._held.pop(0)()
