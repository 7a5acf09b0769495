"""`prompts/list` and `prompts/get`: the user's prompts (`$CODEX_HOME/prompts`) and the project's (`.codex/prompts`).

The project is the session's root, otherwise the server's working folder. If both have a prompt of one name, the user's
is used: a repository must not replace a prompt that its user knows. A prompt is only text for the client.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.mcp.methods import Exchange
from codex_mcp.mcp.paging import BadCursor, page
from codex_mcp.mcp.prompts.folders import prompts_in
from codex_mcp.mcp.prompts.pictures import pictures
from codex_mcp.mcp.prompts.template import MissingArgument, Prompt
from codex_mcp.mcp.prompts.watching import Folders, PromptWatch
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.wire import features, mcp

if TYPE_CHECKING:
    from codex_mcp.mcp.session import Session

FOLDER: Final = "prompts"
PROJECT_FOLDER: Final = os.path.join(".codex", FOLDER)

FROM_PROJECT: Final = "(from this project)"
"""At the end of a description, because whoever wrote the repository wrote the prompt."""


Embed: TypeAlias = Callable[[Exchange, str], Awaitable[Mapping[str, object] | None]]
"""The resource with this address, if there is one that the client may read."""


class FoundPrompt(Struct, frozen=True):
    prompt: Prompt
    folder: str
    is_project: bool = False

    def listed(self) -> dict[str, object]:
        prompt = self.prompt
        words = [prompt.description or prompt.beginning, FROM_PROJECT if self.is_project else ""]
        hint = {"description": prompt.hint} if prompt.hint else {}
        arguments = [{"name": name, **hint, "required": prompt.is_required(name)} for name in prompt.arguments]
        description = " ".join(filter(None, words))
        return {
            "name": prompt.name,
            **({"description": description} if description else {}),
            **({"arguments": arguments} if arguments else {}),
        }


class WatchedFolders:
    """The folders whose changes a session is told."""

    def __init__(self, watch: PromptWatch, tell: Callable[[], None]) -> None:
        self._watch = watch
        self._tell = tell
        self._folders: Folders | None = None

    async def move_to(self, folders: Folders) -> None:
        if folders != self._folders:
            self.stop()
            self._folders = folders
            await self._watch.add(folders, self._tell)
            if self._folders != folders:  # the session was closed, or moved on
                self._watch.remove(folders, self._tell)

    def stop(self) -> None:
        if self._folders is not None:
            self._watch.remove(self._folders, self._tell)
            self._folders = None


class Prompts:
    def __init__(self, codex_home: str, embed: Embed) -> None:
        self._home = codex_home
        self._embed = embed
        self._watch = PromptWatch()

    async def list_prompts(self, exchange: Exchange, asked: features.Page) -> object:
        if not exchange.client.is_stateless:
            await self.watch(exchange)
        try:
            entries = {name: found.listed() for name, found in (await self.find(exchange)).items()}
            return page("prompts", entries, asked.cursor).answer("prompts")
        except BadCursor as exc:
            raise invalid_params(str(exc)) from exc

    async def get(self, exchange: Exchange, asked: features.GetPrompt) -> object:
        """The prompt's text; before it the images that it shows, and the threads that its arguments name."""
        found = (await self.find(exchange)).get(asked.name)
        if found is None:
            raise invalid_params(f"unknown prompt: {asked.name}; prompts/list names those that there are")
        prompt, arguments = found.prompt, asked.arguments or {}
        try:
            text = prompt.filled(arguments)
        except MissingArgument as exc:
            raise invalid_params(str(exc)) from exc
        named = [await self._embed(exchange, arguments[name]) for name in prompt.arguments if name in arguments]
        blocks: list[Mapping[str, object]] = [
            *await in_thread(lambda: list(pictures(found.folder, prompt.body))),
            *({"type": "resource", "resource": resource} for resource in named if resource is not None),
            {"type": "text", "text": text},
        ]
        described = {"description": prompt.description} if prompt.description else {}
        return {**described, "messages": [{"role": "user", "content": block} for block in blocks]}

    async def find(self, exchange: Exchange) -> dict[str, FoundPrompt]:
        """The prompts of a session by their names."""
        folders = await self._folders(exchange)
        # A few of each principal at once: `in_thread` bounds the memory that they take.
        return await in_thread(_found, folders)

    async def watch(self, exchange: Exchange) -> None:
        """Tell the session's client changes from now on, until the session is closed."""
        session = exchange.session
        await session.part(WatchedFolders, lambda: self._made(session)).move_to(await self._folders(exchange))

    def _made(self, session: Session) -> WatchedFolders:
        watched = WatchedFolders(self._watch, lambda: session.announce(mcp.Change.PROMPTS))
        session.at_close(watched.stop)
        return watched

    async def _folders(self, exchange: Exchange) -> Folders:
        """The user's folder and the project's, whose links must not lead out of the project."""
        root = await exchange.session.root(exchange.client, exchange.request.id)
        return await in_thread(_folders, self._home, root)


def _folders(home: str, root: str | None) -> Folders:
    users = os.path.join(home, FOLDER)
    try:
        project = os.path.realpath(root or os.getcwd())
    except FileNotFoundError:  # the folder in which the server was started is gone
        return (users,)
    folder = os.path.join(project, PROJECT_FOLDER)
    is_inside = os.path.realpath(folder) == folder
    return (users, folder) if is_inside and folder != os.path.realpath(users) else (users,)


def _found(folders: Folders) -> dict[str, FoundPrompt]:
    users, *projects = folders
    ours = {prompt.name: FoundPrompt(prompt, users) for prompt in prompts_in(users)}
    theirs = {
        prompt.name: FoundPrompt(prompt, each, is_project=True) for each in projects for prompt in prompts_in(each)
    }
    return theirs | ours
