"""From the arguments of a team's `codex` and `codex-reply` to the thread and the turn that they ask for.

A value in the call wins over the agent file, then the role, then the settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import read_regular
from codex_mcp.base.git import checkout_around
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Events
from codex_mcp.base.settings.nearest import nearest
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.schema.arguments import CodexArguments
from codex_mcp.mcp.schema.team_arguments import Way, request_of
from codex_mcp.mcp.schema.team_catalogue import StartArguments, TeamReplyArguments
from codex_mcp.mcp.tools.specs import environment_of, new_thread, new_turn, reply_turn, working_folder
from codex_mcp.team.forking import ForkSource
from codex_mcp.team.profile.agent_file import AgentFile, read_agent_file
from codex_mcp.team.profile.roles import Role
from codex_mcp.team.starting import AgentOrder
from codex_mcp.team.work import Assignment

EFFORT = "model_reasoning_effort"

MAY_CHANGE: Final = ("model", "cwd", "approval_policy", "sandbox")
"""Settings of an agent that a copy of it may have otherwise, besides `config`."""


def ordered(
    arguments: StartArguments, way: Way, principal: str, settings: Settings, roles: Mapping[str, Role]
) -> AgentOrder:
    """The agent that a call of `codex` asks for. Reads files: call it in a thread. Raises Refused."""
    role_name = arguments.role or settings.team.role
    role = _role(role_name, roles)
    file = None
    if way is Way.FILE and arguments.agent_file is not None:
        file = read_agent_file(arguments.agent_file, arguments.cwd or working_folder())
    new = new_thread(_merged(arguments, file, role, settings), settings)
    _check_images(arguments, new.spec)
    return AgentOrder(
        spec=replace(new.spec, config={**role.config, **new.spec.config}),
        warnings=new.warnings if file is None else (*new.warnings, *file.notes),
        principal=principal,
        identity=arguments.identity,
        tag=arguments.tag,
        request_id=arguments.request_id,
        prompt=arguments.prompt if file is None or arguments.prompt else file.prompt,
        default_identity=(file and file.identity) or role.identity or settings.team.default_identity,
        role=role_name,
        source=arguments.agent_file,
        auto_mail=False not in (arguments.auto_mail, role.auto_mail),
        worktree=_wants_worktree(arguments, role, settings),
    )


def forked(arguments: StartArguments, source: ForkSource, principal: str, settings: Settings) -> AgentOrder:
    """A copy of an agent: its settings, except those that the call gives. Reads files: call it in a thread."""
    asked = CodexArguments(
        prompt=arguments.prompt,
        model=arguments.model,
        cwd=arguments.cwd,
        approval_policy=arguments.approval_policy,
        sandbox=arguments.sandbox,
        config=arguments.config,
        events=arguments.events,
    )
    new, agent = new_thread(asked, settings), source.agent
    has_worktree = settings.team.worktree if arguments.worktree is None else arguments.worktree
    given = {name: getattr(new.spec, name) for name in MAY_CHANGE if getattr(asked, name) is not None}
    base = _place_of_copy(arguments, source, has_worktree=has_worktree)
    spec = replace(base, **given, raw_events=new.spec.raw_events)
    if arguments.config:
        spec = replace(spec, config={**base.config, **new.spec.config})
    _check_images(arguments, spec)
    return AgentOrder(
        spec=spec,
        warnings=new.warnings,
        principal=principal,
        identity=arguments.identity,
        tag=arguments.tag,
        request_id=arguments.request_id,
        prompt=arguments.prompt,
        default_identity=agent.identity,
        role=agent.role,
        source=agent.agent_source,
        auto_mail=agent.auto_mail if arguments.auto_mail is None else arguments.auto_mail,
        worktree=has_worktree,
    )


def _check_images(arguments: StartArguments, spec: ThreadSpec) -> None:
    """Refuse an image that cannot be read before an agent is started. Raises Refused."""
    new_turn(arguments, spec.cwd or "")


def _place_of_copy(arguments: StartArguments, source: ForkSource, *, has_worktree: bool) -> ThreadSpec:
    """The settings of the other agent; without those for its worktree, if the copy works elsewhere. Raises Refused."""
    spec, cwd = source.spec, source.agent.cwd
    if arguments.cwd is None and not spec.is_remote and not os.path.isdir(cwd):
        raise Refused(f"cannot copy agent {source.agent.identity}: its folder {cwd} is gone; name another one in `cwd`")
    if spec.base is None or not (has_worktree or arguments.cwd):
        return spec
    return replace(spec, base=None, entries={})


def _wants_worktree(arguments: StartArguments, role: Role, settings: Settings) -> bool:
    chosen = (arguments.worktree, role.worktree, settings.team.worktree)
    return next(choice for choice in chosen if choice is not None)


def _role(name: str | None, roles: Mapping[str, Role]) -> Role:
    if name is None:
        return Role()
    if name not in roles:
        known = ", ".join(sorted(roles)) or "there are none"
        meant = nearest(name, roles)
        hint = f"; did you mean {meant}?" if meant else "; a role is a table [plugins.codex-mcp.roles.NAME]"
        raise Refused(f"there is no role {name!r} (known: {known}){hint}")
    return roles[name]


def _merged(arguments: StartArguments, file: AgentFile | None, role: Role, settings: Settings) -> CodexArguments:
    """The arguments as those of a plain `codex`, with missing values filled in."""
    effort = role.reasoning_effort or settings.team.reasoning_effort
    config = dict(arguments.config)
    if effort is not None and EFFORT not in config:
        config[EFFORT] = effort
    environment = arguments.environment or role.environment
    sandbox = arguments.sandbox or (file and file.sandbox) or role.sandbox or settings.team.sandbox
    # With a task, the text of the file says who the agent is; otherwise it is the task.
    described = file.prompt if file is not None and arguments.prompt else None
    policy = arguments.approval_policy or role.approval_policy or settings.team.approval_policy
    return CodexArguments(
        prompt=arguments.prompt,
        model=arguments.model or (file and file.model) or role.model or settings.team.model,
        cwd=arguments.cwd or _repository(environment, settings),
        approval_policy=None if policy is None else str(policy),
        sandbox=None if sandbox is None else str(sandbox),
        config=config,
        base_instructions=arguments.base_instructions or _text_of(settings.team.base_prompt_file),
        developer_instructions=_paragraphs(
            arguments.developer_instructions,
            described,
            role.instructions,
            _text_of(settings.team.extra_instructions_file),
        ),
        compact_prompt=arguments.compact_prompt,
        profile=arguments.profile,
        include_plan_tool=arguments.include_plan_tool,
        environment=environment,
        events=arguments.events,
    )


def _repository(environment: str | None, settings: Settings) -> str | None:
    """The default folder of an agent on this machine: the root of the server's repository."""
    if is_elsewhere(environment_of(environment, settings.core)):
        return None
    return checkout_around(working_folder()).root


def _paragraphs(*texts: str | None) -> str | None:
    return "\n\n".join(text.strip() for text in texts if text and text.strip()) or None


def _text_of(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        return read_regular(path).decode()
    except (OSError, UnicodeDecodeError) as exc:
        raise Refused(f"cannot read the instructions in {path}: {exc}; correct the setting") from exc


def assigned(call: Call, arguments: StartArguments | TeamReplyArguments, cwd: str, prompt: str) -> Assignment:
    """The turn that a call asks for, of an agent that works in `cwd`. Raises Refused, BadArguments."""
    call.send_events(arguments.events)
    spec = reply_turn(arguments, cwd) if isinstance(arguments, TeamReplyArguments) else new_turn(arguments, cwd)
    return Assignment(
        replace(spec, prompt=prompt),
        call,
        full_events=call.events is Events.FULL,
        purpose=call.params.name,
        request=request_of(arguments),
    )
