"""Pure. The arguments of `codex`, `codex-reply` and `codex_wait`: names, types, defaults, and descriptions for a model.

Clients put the descriptions into the context of their model, so every text is as short as it can be.
"""

from collections.abc import Mapping
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Struct, structs

from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import GoalOrder, When, WhenLimited
from codex_mcp.mcp.news import WaitMode
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments, about, fields_of, read_some, spelled


class HowToWait(Struct, frozen=True, kw_only=True, rename=spelled):
    background: Annotated[bool, about("Return at once; codex_wait collects the answer.")] = False
    wait_seconds: Annotated[
        float | None, about("Return status `running` after this long; 0: never. Default: before this client times out.")
    ] = None


class TurnArguments(HowToWait, frozen=True, kw_only=True):
    prompt: Annotated[str, about("What to say next.")]
    images: Annotated[tuple[str, ...], about("File paths, or http, https or data URLs.")] = ()
    output_schema: Annotated[dict[str, object] | None, about("JSON Schema of the answer.")] = None
    events: Annotated[Events | None, about("codex/event notifications.")] = None
    goal: Annotated[
        str | None, about("What the agent works towards by itself, turn after turn, once the prompt has been answered.")
    ] = None
    goal_tokens: Annotated[
        int | None, about("The goal ends when it has used this many tokens.", bounds=(1, 10**12))
    ] = None
    goal_status: Annotated[
        str | None, about("What becomes of the goal that it has.", "active", "paused", "cleared")
    ] = None

    when_limited: Annotated[
        WhenLimited, about("If the account has reached its usage limit: fail, wait for its end, or try.")
    ] = WhenLimited.FAIL

    @property
    def goal_order(self) -> GoalOrder | None:
        """Raises BadArguments."""
        if self.goal is not None and not self.goal.strip():
            raise BadArguments(f"{BAD_ARGUMENTS}`goal` is empty; `goal-status: cleared` ends a goal")
        if self.goal is None and self.goal_tokens is None and self.goal_status is None:
            return None
        return GoalOrder(self.goal, self.goal_tokens, self.goal_status or "active")


POLICIES: Final = ("untrusted", "on-failure", "on-request", "never")
SANDBOXES: Final = ("read-only", "workspace-write", "danger-full-access")
EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")


class CodexArguments(TurnArguments, frozen=True, kw_only=True):
    prompt: Annotated[str, about("The task.")]
    model: Annotated[str | None, about("For example `gpt-5.5`.")] = None
    cwd: Annotated[str | None, about("Working folder.")] = None
    approval_policy: Annotated[
        str | None,
        about(
            "When a person is asked: `untrusted` for all but safe commands, `on-request` to leave the sandbox.",
            *POLICIES,
        ),
    ] = None
    sandbox: Annotated[str | None, about("What commands may do.", *SANDBOXES)] = None
    config: Annotated[dict[str, object], about("Overrides of config.toml; keys may be dotted.")] = {}
    base_instructions: Annotated[str | None, about("Replace Codex's own system prompt.")] = None
    developer_instructions: Annotated[str | None, about("Further instructions.")] = None
    compact_prompt: Annotated[str | None, about("Prompt for compacting a long conversation.")] = None
    profile: Annotated[str | None, about("A profile of Codex's configuration.")] = None
    environment: Annotated[str | None, about("Where commands run, if not on this server's machine.")] = None
    include_plan_tool: Annotated[bool | None, about("Add the planning tool.")] = None
    session_id: Annotated[
        str | None, about("A name of your choice (letters, digits, - and _): the conversation continues under it.")
    ] = None
    reset_session: Annotated[bool, about("Begin that session anew.")] = False
    reasoning_effort: Annotated[str | None, about("How much the model reasons.", *EFFORTS)] = None
    working_directory: Annotated[str | None, about("Another name of cwd.")] = None
    full_auto: Annotated[bool, about("Means sandbox workspace-write and approval-policy on-request.")] = False
    callback_uri: Annotated[str | None, about("The variable CODEX_MCP_CALLBACK_URI of the agent's commands.")] = None


Started = TypeVar("Started", bound=CodexArguments)


class ReplyArguments(TurnArguments, frozen=True, kw_only=True):
    thread_id: Annotated[str | None, about("As returned by `codex`.")] = None
    conversation_id: Annotated[str | None, about("Older name of threadId.")] = None
    when: Annotated[When, about("If busy: wait (default), join the running turn, or stop it.")] = When.QUEUE
    rollback: Annotated[int, about("First drop this many turns; files stay.", bounds=(1, 1000))] = 0

    @property
    def thread(self) -> str | None:
        """`conversationId` is an older name of `threadId`."""
        return self.thread_id or self.conversation_id


class WaitArguments(Struct, frozen=True, kw_only=True, rename=spelled):
    thread_ids: Annotated[tuple[str, ...] | None, about("Default: those that you gave a prompt in this session.")] = (
        None
    )
    mode: Annotated[
        WaitMode,
        about(
            "`first` (default): return with the first news; `all`: when nothing runs any more or a question is open."
        ),
    ] = WaitMode.FIRST
    again: Annotated[bool, about("Also what was returned before.")] = False
    offset: Annotated[int, about("Return a long answer from this character on.")] = 0
    timeout_seconds: Annotated[
        float | None, about("Return by then, with what still runs; 0: at once. Default: before this client times out.")
    ] = None

    @property
    def repeats(self) -> bool:
        """It asks for what was reported before."""
        return self.again or self.offset > 0


CALLBACK: Final = "CODEX_MCP_CALLBACK_URI"
LONGEST_URI: Final = 2048

FULL_AUTO: Final = "fullAuto means sandbox {sandbox} and approval-policy {policy}; name these two instead"
RESET_WHAT: Final = "resetSession has no effect without sessionId"


def translated(arguments: Started) -> tuple[Started, tuple[str, ...]]:
    """The arguments with those of an older wrapper expressed by ours, and warnings. Raises BadArguments."""
    config = dict(arguments.config)
    changes: dict[str, str] = {}
    warnings: list[str] = []
    if arguments.working_directory is not None:
        if arguments.cwd not in (None, arguments.working_directory):
            raise BadArguments(f"{BAD_ARGUMENTS}`cwd` and `workingDirectory` differ; give one of them")
        changes["cwd"] = arguments.working_directory
    if arguments.reasoning_effort is not None:
        config["model_reasoning_effort"] = arguments.reasoning_effort
    if arguments.callback_uri is not None:
        if len(arguments.callback_uri) > LONGEST_URI or not arguments.callback_uri.isprintable():
            raise BadArguments(f"{BAD_ARGUMENTS}`callbackUri` must be a URI of at most {LONGEST_URI} characters")
        config[f"shell_environment_policy.set.{CALLBACK}"] = arguments.callback_uri
    if arguments.full_auto:
        changes["sandbox"] = arguments.sandbox or "workspace-write"
        changes["approval_policy"] = arguments.approval_policy or "on-request"
        warnings.append(FULL_AUTO.format(sandbox=changes["sandbox"], policy=changes["approval_policy"]))
    if arguments.reset_session and arguments.session_id is None:
        warnings.append(RESET_WHAT)
    return structs.replace(arguments, config=config, **changes), tuple(warnings)


def how_to_wait(arguments: Mapping[str, object]) -> HowToWait:
    """How long a call waits; other arguments are ignored. Raises BadArguments."""
    return msgspec.convert(read_some(tuple(fields_of(HowToWait).values()), arguments), HowToWait)
