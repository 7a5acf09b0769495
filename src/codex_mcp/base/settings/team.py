"""Pure. Settings of a team."""

from typing import Annotated

from msgspec import Struct

from codex_mcp.base.settings.kinds import (
    HOUR,
    INSTANT,
    MONTH,
    MOST_TOKENS,
    ApprovalPolicy,
    Sandbox,
    Setting,
    count,
    identity,
    limit,
    one_of,
    path,
    seconds,
    switch,
    team_name,
    text,
)

AS_CODEX = "as Codex is configured"


class TeamSettings(Struct, frozen=True, kw_only=True):
    """Agents with names, for `codex-mcp serve`."""

    team: Annotated[str, Setting(team_name, "NAME", "the team of the agents", variables=("ATM_TEAM",))] = "default"
    """Also `default_team` in the table `[core]` of a file."""

    default_identity: Annotated[
        str,
        Setting(
            identity,
            "NAME",
            "the name of agents that are started without one",
            flag="identity",
            variables=("CODEX_MCP_IDENTITY", "ATM_AGENT_MCP_IDENTITY"),
        ),
    ] = "codex"
    """The second such agent is called codex-2."""

    role: Annotated[str | None, Setting(text, "NAME", "the role of agents that are started without one")] = None
    """A role is a table `[plugins.codex-mcp.roles.NAME]` of a file."""

    state_dir: Annotated[
        str, Setting(path, "DIR", "where agents are recorded", default="`~/.config/atm/codex-sessions`")
    ] = ""
    """It holds the registry, summaries and the audit log. `ATM_HOME`, if set, replaces `~`."""

    turn_timeout: Annotated[
        float,
        Setting(
            seconds(INSTANT, MONTH, zero="no limit"),
            "SECONDS",
            "interrupt a turn that runs longer",
            flag="timeout",
            variables=("CODEX_MCP_TIMEOUT",),
        ),
    ] = 1800.0
    """Half an hour is longer than most prompts take, and a team must not wait for one agent without end. `mcp-server`
    has no such limit."""

    max_concurrent_threads: Annotated[
        int, Setting(count(1, 1000), "N", "active agents of one principal, idle ones included; more are refused")
    ] = 10
    """Each agent keeps a conversation in memory."""

    model: Annotated[
        str | None,
        Setting(
            text,
            "NAME",
            "the model of agents whose call and role name none",
            variables=("ATM_AGENT_MCP_MODEL",),
            default=AS_CODEX,
        ),
    ] = None

    reasoning_effort: Annotated[
        str | None,
        Setting(
            text,
            "EFFORT",
            "their reasoning effort, such as low or high",
            variables=("ATM_AGENT_MCP_REASONING_EFFORT",),
            default=AS_CODEX,
        ),
    ] = None
    """Which efforts exist depends on the model."""

    sandbox: Annotated[
        Sandbox | None,
        Setting(
            one_of(Sandbox),
            "MODE",
            "what their commands may do",
            variables=("ATM_AGENT_MCP_SANDBOX",),
            default=AS_CODEX,
        ),
    ] = None

    approval_policy: Annotated[
        ApprovalPolicy | None,
        Setting(
            one_of(ApprovalPolicy),
            "POLICY",
            "when a person is asked",
            variables=("ATM_AGENT_MCP_APPROVAL_POLICY",),
            default=AS_CODEX,
        ),
    ] = None

    base_prompt_file: Annotated[
        str | None, Setting(path, "FILE", "instructions that replace Codex's own system prompt")
    ] = None

    extra_instructions_file: Annotated[str | None, Setting(path, "FILE", "further instructions for every agent")] = None

    auto_mail: Annotated[bool, Setting(switch, "YES|NO", "give new mail to an idle agent as its next prompt")] = True
    """No effect yet: there is no mail."""

    turns_per_hour: Annotated[int, Setting(limit(1_000_000), "N", "turns that one agent may begin in an hour")] = 0
    tokens_per_thread: Annotated[int, Setting(limit(MOST_TOKENS), "N", "tokens that one agent may use")] = 0
    tokens_per_team: Annotated[int, Setting(limit(MOST_TOKENS), "N", "tokens that all agents together may use")] = 0

    max_hops: Annotated[
        int, Setting(count(1, 1000), "N", "how often mail may cause mail without a person in between")
    ] = 8
    """Enough for a question, an answer and some discussion; two agents that thank each other soon stop. No effect yet:
    there is no mail."""

    summary_timeout: Annotated[
        float,
        Setting(
            seconds(INSTANT, HOUR, zero="no summaries"),
            "SECONDS",
            "how long a closing agent may take to sum up its work",
        ),
    ] = 10
    """Then it is closed without a summary."""
