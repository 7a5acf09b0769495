"""Pure. What the facts about Codex and this machine mean. Clients are judged in `client_checks`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from codex_mcp.base.errors import Notice
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.cli.doctor.client_checks import judge_clients
from codex_mcp.cli.doctor.facts import (
    LEAST_FREE_BYTES,
    LOW_FREE_BYTES,
    Agents,
    Codex,
    Configuration,
    Core,
    Facts,
    Finding,
    Fitness,
    Folder,
    Folders,
    Group,
    Level,
    Port,
    Provider,
    Sandbox,
    Turn,
)

LOGIN: Final = "run `codex-mcp login`"
KEY_LOGIN: Final = "run `printenv OPENAI_API_KEY | codex-mcp login --with-api-key`"

ACCOUNTS: Final = {"chatgpt": "a ChatGPT account", "apiKey": "an API key"}

NAMES_SHOWN: Final = 5


def judge(facts: Facts) -> list[Finding]:
    """All findings, in the order of the groups."""
    return [
        *_codex(facts.codex),
        *(_core(facts.core) if facts.core is not None else ()),
        *(_sign_in(facts.core, facts.configuration) if facts.core is not None and not facts.core.error else ()),
        *_configuration(facts.configuration, facts.core),
        *(_sandbox(facts.sandbox) if facts.sandbox is not None else ()),
        *_folders(facts.folders),
        *judge_clients(facts.clients),
        *(_port(port) for port in facts.ports),
        *_agents(facts.agents),
        *(_turn(facts.turn) if facts.turn is not None else ()),
    ]


def _codex(codex: Codex) -> Iterator[Finding]:
    if codex.error:
        fix = codex.error.fix or "correct codex_version, or leave it out"
        yield Finding("codex.found", Group.CODEX, Level.ERROR, codex.error.problem, fix)
        return
    chosen = f"Codex {codex.version}, {codex.why}: {codex.path}"
    if codex.is_old:
        fix = "remove codex_version, codex_bin and backend from the settings to use our own Codex"
        yield Finding("codex.version", Group.CODEX, Level.WARNING, f"{chosen}. It is old and can do less", fix)
    elif codex.fitness in (Fitness.TESTED, Fitness.TRIED):
        yield Finding("codex.version", Group.CODEX, Level.OK, f"{chosen} ({codex.fitness})")
    else:
        fix = "run `codex-mcp doctor --self-test`, or remove codex_version and codex_bin to use our own Codex"
        yield Finding("codex.version", Group.CODEX, Level.WARNING, f"{chosen}, but {codex.fitness}", fix)
    if codex.unused:
        yield Finding("codex.unused", Group.CODEX, Level.WARNING, codex.unused, codex.remedy)


def _core(core: Core) -> Iterator[Finding]:
    if core.error:
        fix = "correct what it names; the log (log/codex-rmcp.log in CODEX_HOME) has more"
        yield Finding("codex.handshake", Group.CODEX, Level.ERROR, core.error, fix)
    else:
        yield Finding("codex.handshake", Group.CODEX, Level.OK, "Codex starts and answers")


def _sign_in(core: Core, configuration: Configuration) -> Iterator[Finding]:
    group, provider = Group.SIGN_IN, configuration.provider
    if configuration.syntax_error or core.config_error:
        yield Finding("sign-in", group, Level.OK, "unknown until config.toml is correct (see Configuration)")
        return
    if provider is not None and provider.silence:
        yield _silent(provider)
    if provider is not None and not provider.is_key_set:
        text = f"the model provider {provider.name} needs the variable {provider.env_key}, which is not set"
        fix = f"set {provider.env_key} where the client starts the server (its `env`), and here"
        yield Finding("sign-in.provider-key", group, Level.ERROR, text, fix)
    elif not core.is_known:
        yield Finding("sign-in", group, Level.OK, "unknown: an old Codex cannot be asked")
    elif core.account is not None:
        yield Finding("sign-in", group, Level.OK, f"signed in with {ACCOUNTS.get(core.account, core.account)}")
    elif not core.needs_sign_in:
        name = provider.name if provider is not None else "of config.toml"
        yield Finding("sign-in", group, Level.OK, f"no sign-in needed: the model provider is {name}")
    elif configuration.has_openai_key:
        text = "not signed in. OPENAI_API_KEY is set, but Codex does not read it by itself"
        yield Finding("sign-in", group, Level.ERROR, text, KEY_LOGIN)
    else:
        yield Finding("sign-in", group, Level.ERROR, "not signed in", LOGIN)


def _silent(provider: Provider) -> Finding:
    text = f"the model provider {provider.name} cannot be reached at {provider.url}: {provider.silence}"
    if provider.is_local:
        fix = "start it, or correct its base_url in config.toml"
        return Finding("sign-in.provider-address", Group.SIGN_IN, Level.ERROR, text, fix)
    fix = "check the network and its base_url in config.toml"
    return Finding("sign-in.provider-address", Group.SIGN_IN, Level.WARNING, text, fix)


def _configuration(configuration: Configuration, core: Core | None) -> Iterator[Finding]:
    group = Group.CONFIGURATION
    if (error := configuration.settings_error) is not None:
        fix = error.fix or "correct this setting (docs/settings.md)"
        yield Finding("settings", group, Level.ERROR, error.problem, fix)
    for warning in configuration.warnings:
        fix = warning.fix or "remove it, or correct its name"
        yield Finding("settings.ignored", group, Level.WARNING, warning.problem, fix)
    config_error = core.config_error if core is not None else None
    if config_error is None and configuration.syntax_error:
        config_error = Notice(configuration.syntax_error)
    if config_error is not None:
        text = f"Codex cannot use {configuration.config_path}: {config_error.problem}"
        fix = config_error.fix or f"correct {configuration.config_path}"
        yield Finding("config.toml", group, Level.ERROR, text, fix)
    elif not configuration.settings_error:
        text = configuration.config_path if configuration.has_config else "no config.toml: Codex's own defaults apply"
        yield Finding("config.toml", group, Level.OK, text)


def _sandbox(sandbox: Sandbox) -> Iterator[Finding]:
    group = Group.SANDBOX
    if sandbox.is_linux and not sandbox.has_bubblewrap:
        text = "there is no bubblewrap, which confines the commands of agents and of the exec-server"
        yield Finding("sandbox.bubblewrap", group, Level.WARNING, text, "install the package bubblewrap")
    if not sandbox.trouble:
        yield Finding("sandbox", group, Level.OK, "commands can be confined")
        return
    if sandbox.blocked_by:
        fix = f"run `sudo sysctl -w {sandbox.blocked_by}`"
    else:
        fix = (
            "in a container, allow user namespaces (for Docker: --security-opt seccomp=unconfined), "
            "or start agents with sandbox danger-full-access if the container is enough protection"
        )
    text = f"commands cannot be confined, so each needs an approval: {sandbox.trouble}"
    yield Finding("sandbox", group, Level.WARNING, text, fix)


def _folders(folders: Folders) -> Iterator[Finding]:
    group = Group.FOLDERS
    yield from map(_folder, folders.folders)
    if folders.open_sign_in:
        text = f"other users of this machine can read your sign-in in {folders.open_sign_in}"
        yield Finding("folders.sign-in", group, Level.WARNING, text, f"run `chmod 600 {folders.open_sign_in}`")
    if folders.damaged_state:
        text = f"the database of the state folder is damaged: {folders.damaged_state}"
        fix = "stop all servers of this folder; the first call to the next one sets it aside and creates a new one"
        yield Finding("folders.state", group, Level.ERROR, text, fix)
    if (error := folders.database_error) is not None:
        fix = error.fix or "start the database, or correct the setting state"
        yield Finding("folders.database", group, Level.ERROR, error.problem, fix)
    elif folders.database:
        yield Finding("folders.database", group, Level.OK, f"agents are recorded in {folders.database}")
    for path in folders.held_locks:
        text = f"a server that is starting holds the lock {path}"
        fix = f"run doctor again in a minute; if it is still held, end the process that `fuser {path}` names"
        yield Finding("folders.lock", group, Level.WARNING, text, fix)


def _folder(folder: Folder) -> Finding:
    check, group, what = f"folders.{folder.setting}", Group.FOLDERS, f"{folder.purpose}: {folder.path}"
    if folder.obstacle:
        remedy = f"run `{folder.remedy}`" if folder.remedy else "correct that"
        fix = f"{remedy}, or name another folder (setting {folder.setting})"
        return Finding(check, group, Level.ERROR, f"{what} cannot be used: {folder.obstacle}", fix)
    text = f"{what} ({_size(folder.free_bytes)} free)"
    fix = f"free some space on that disk, or name a folder on another one (setting {folder.setting})"
    if folder.free_bytes < LEAST_FREE_BYTES:
        return Finding(check, group, Level.ERROR, text, fix)
    if folder.free_bytes < LOW_FREE_BYTES:
        return Finding(check, group, Level.WARNING, text, fix)
    return Finding(check, group, Level.OK, text)


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def _port(port: Port) -> Finding:
    if not port.problem:
        return Finding("port", Group.NETWORK, Level.OK, f"port {port.number} is free for {port.needed_by}")
    text = f"port {port.number}, which {port.needed_by} needs, cannot be used: {port.problem}"
    return Finding("port", Group.NETWORK, Level.WARNING, text, port.instead)


def _agents(agents: Agents) -> Iterator[Finding]:
    group = Group.AGENTS
    if agents.error:
        fix = agents.error.fix or "correct that, or name another state_dir"
        yield Finding("agents", group, Level.ERROR, agents.error.problem, fix)
    elif agents.stale:
        more = len(agents.stale) - NAMES_SHOWN
        names = ", ".join(agents.stale[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
        text = f"{len(agents.stale)} of {agents.total} agents lost their server: {names}"
        fix = "continue them by their names, or forget them: `codex-mcp threads --prune --older-than 0`"
        yield Finding("agents", group, Level.WARNING, text, fix)
    elif agents.total:
        yield Finding("agents", group, Level.OK, f"{agents.total} agents of a team, none without its server")
    for each in agents.limited:
        known = "nobody knows until when" if each.until is None else f"until {format_timestamp(each.until)}"
        text = f"the account of server process {each.pid} has reached its usage limit, {known}: its agents are paused"
        fix = "wait, or send a prompt with `when-limited: try`, which shows whether the limit has ended"
        yield Finding("agents.account", group, Level.WARNING, text, fix)


def _turn(turn: Turn) -> Iterator[Finding]:
    if turn.error:
        fix = "correct the findings above first; if there are none, please report this with doctor's output"
        yield Finding("turn", Group.TURN, Level.ERROR, f"it failed: {turn.error}", fix)
    else:
        text = f"an agent of a scripted model answered over stdio after {turn.seconds:.1f} s"
        yield Finding("turn", Group.TURN, Level.OK, text)
