"""From a call's arguments to the thread and the turn that Codex is asked for; checks paths."""

from __future__ import annotations

import os
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.environments import EXEC_ENVIRONMENT, LOCAL_ENVIRONMENT, is_elsewhere, unknown
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.config.overrides import tool_layer
from codex_mcp.codex.config.profiles import read_thread_config
from codex_mcp.codex.core import ThreadSpec, TurnSpec, When
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.images import checked_image
from codex_mcp.mcp.schema.arguments import CodexArguments, ReplyArguments, TurnArguments
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments

CONFIG_REFUSED: Final = "Failed to load Codex configuration from overrides: "


Started = TypeVar("Started", bound=CodexArguments)


class NewThread(Struct, frozen=True):
    """The thread to start, and warnings about arguments that Codex supports only in part."""

    spec: ThreadSpec
    warnings: tuple[str, ...]


async def in_default_folder(call: Call, arguments: Started, settings: CoreSettings) -> Started:
    """The arguments with the client's root as `cwd`, unless they name a folder or commands run on an exec-server."""
    if arguments.cwd is not None or is_elsewhere(environment_of(arguments.environment, settings)):
        return arguments
    return replace(arguments, cwd=await call.default_folder())


def new_thread(arguments: CodexArguments, settings: Settings) -> NewThread:
    """The thread that a call of `codex` asks for. Raises Refused."""
    merged = read_thread_config(
        settings.core,
        arguments.config,
        profile=arguments.profile,
        approval_policy=arguments.approval_policy,
        tools=tool_layer(include_plan_tool=arguments.include_plan_tool, compact_prompt=arguments.compact_prompt),
    )
    environment = environment_of(arguments.environment, settings.core)
    there = settings.core.environments.get(environment or "")
    spec = ThreadSpec(
        cwd=_folder(arguments.cwd) if there is None else _remote_folder(arguments.cwd or there.cwd),
        environment=environment,
        model=arguments.model or _default_model(arguments, settings),
        approval_policy=merged.approval_policy,
        sandbox=arguments.sandbox,
        base_instructions=arguments.base_instructions,
        developer_instructions=arguments.developer_instructions,
        config=merged.config,
        raw_events=(arguments.events or settings.calls.events) is Events.FULL,
    )
    return NewThread(spec, merged.warnings)


def _default_model(arguments: CodexArguments, settings: Settings) -> str | None:
    return None if arguments.profile or "model" in arguments.config else settings.sessions.default_model


def new_turn(arguments: TurnArguments, cwd: str) -> TurnSpec:
    """The turn that a call asks for. Raises Refused."""
    return TurnSpec(
        prompt=arguments.prompt,
        images=tuple(checked_image(image, cwd) for image in arguments.images),
        output_schema=arguments.output_schema,
        goal=arguments.goal_order,
        when_limited=arguments.when_limited,
    )


def reply_turn(arguments: ReplyArguments, cwd: str) -> TurnSpec:
    """The turn that a call of `codex-reply` asks for. Raises Refused, BadArguments."""
    if arguments.when is When.STEER and arguments.output_schema is not None:
        raise BadArguments(f"{BAD_ARGUMENTS}`output-schema` needs a turn of its own; leave it out, or do not steer")
    if arguments.when is When.STEER and arguments.rollback:
        raise BadArguments(f"{BAD_ARGUMENTS}`rollback` needs a turn of its own; use `when: interrupt`, or wait")
    if arguments.when is When.STEER and arguments.goal_order is not None:
        raise BadArguments(f"{BAD_ARGUMENTS}`goal` needs a turn of its own; use `when: interrupt`, or wait")
    return replace(new_turn(arguments, cwd), when=arguments.when, rollback=arguments.rollback)


def environment_of(asked: str | None, settings: CoreSettings) -> str | None:
    """Where the commands of a call run; None if there is only this machine. Raises Refused."""
    default = settings.default_environment
    if asked is None or (asked == LOCAL_ENVIRONMENT and default is None):
        return default
    if asked != LOCAL_ENVIRONMENT and asked not in settings.environments:
        if asked == EXEC_ENVIRONMENT:
            raise Refused(f"{CONFIG_REFUSED}there is no exec-server; start codex-mcp with --exec-server URL")
        raise Refused(f"{CONFIG_REFUSED}{unknown(asked, settings.environments)}")
    return asked


def _remote_folder(cwd: str | None) -> str:
    """A folder on the exec-server, which cannot be checked from here."""
    folder = cwd or working_folder()
    if not os.path.isabs(folder):
        raise Refused(f"{CONFIG_REFUSED}cwd `{cwd}` must be an absolute path: it is a folder of the exec-server")
    return folder


def working_folder() -> str:
    """The server's own working folder. Raises Refused if it is gone or its name is not UTF-8."""
    try:
        folder = os.getcwd()
        folder.encode()
    except FileNotFoundError as exc:
        text = "the folder in which the server was started is gone; name a `cwd`, or start it elsewhere"
        raise Refused(f"{CONFIG_REFUSED}{text}") from exc
    except UnicodeEncodeError as exc:
        text = f"the name of the server's folder {folder!a} is not in UTF-8; name another `cwd`, or start it elsewhere"
        raise Refused(f"{CONFIG_REFUSED}{text}") from exc
    return folder


def _folder(cwd: str | None) -> str:
    given = cwd or "."
    folder = os.path.normpath(given if os.path.isabs(given) else os.path.join(working_folder(), given))
    if not os.path.isdir(folder):
        raise Refused(f"{CONFIG_REFUSED}cwd `{cwd}` is not a folder ({folder}); make it first, or name another")
    return folder
