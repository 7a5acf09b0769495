"""Each problem that doctor reports, and that its own advice removes it."""

import ast
import inspect

import pytest

from codex_mcp.base.errors import Notice
from codex_mcp.cli.clients.everywhere.entry import Entry, UnreadableFile
from codex_mcp.cli.clients.recognition.servers import recognised
from codex_mcp.cli.doctor import checks, client_checks, facts
from codex_mcp.cli.doctor.checks import judge
from codex_mcp.cli.doctor.facts import (
    Clients,
    Codex,
    Configuration,
    Core,
    Facts,
    Fitness,
    Folder,
    Folders,
    Level,
    Sandbox,
)

WORKING = Facts(
    Configuration(config_path="~/.codex/config.toml", has_config=True),
    Codex("0.163.0", "/opt/codex", "found on PATH"),
    Core(account="chatgpt", needs_sign_in=True),
    Sandbox(),
    Folders((Folder("Codex's folder", "codex_home", "~/.codex", 50 * 2**30),)),
    Clients(),
)


def but(**changes: object) -> Facts:
    """The facts of a machine where all is well, but for this."""
    return Facts(**{name: changes.get(name, getattr(WORKING, name)) for name in Facts.__struct_fields__})  # type: ignore[arg-type]


def with_folder(**changes: object) -> Facts:
    return but(folders=Folders((Folder("Codex's folder", "codex_home", "~/.codex", **changes),)))  # type: ignore[arg-type]


def with_entry(*words: str, is_there: bool = True, timeout: float | None = None, **more: object) -> Facts:
    starts = recognised(words)
    entry = Entry("Cursor", "~/.cursor/mcp.json", "codex", words, is_there, timeout, starts)
    return but(clients=Clients((entry,), **more))  # type: ignore[arg-type]


def with_address(says: str) -> Facts:
    place = ("Cursor", ".cursor/mcp.json", "codex2", ())
    entry = Entry(*place, scope="project", url="http://127.0.0.1:9/mcp", is_recorded=True)
    return but(clients=Clients((entry,), addresses={"http://127.0.0.1:9/mcp": says}))


def in_claude(name: str, scope: str = "user") -> Entry:
    return Entry("Claude Code", "~/file", name, OURS, starts=recognised(OURS), scope=scope)


def with_key(name: str, *, is_set: bool) -> Facts:
    provider = facts.Provider("mine", name, is_key_set=is_set)
    return but(configuration=Configuration(provider=provider), core=Core())


OURS = ("codex-mcp", "mcp-server")
NO_CODEX = Notice(
    "cannot find Codex: there is no `codex` on PATH", "install it with `pip install openai-codex-cli-bin`"
)
MISNAMED = Notice(
    "the environment variable CODEX_MCP_MODLE has no effect: there is no such setting", "did you mean CODEX_MCP_MODEL?"
)

# The problem; what it is called; a part of the advice; the same machine after following it.
PROBLEMS: dict[str, tuple[Facts, str, Level, str, Facts]] = {
    "folder of root": (
        with_folder(obstacle="you may not write to it", remedy="sudo chown -R me ~/.codex"),
        "folders.codex_home",
        Level.ERROR,
        "run `sudo chown -R me ~/.codex`",
        with_folder(free_bytes=2**40),
    ),
    "no Codex": (but(codex=Codex(error=NO_CODEX), core=None), "codex.found", Level.ERROR, "pip install", WORKING),
    "an old Codex": (
        but(codex=Codex("0.153.4", "/opt/codex", "as codex_version says", is_old=True)),
        "codex.version",
        Level.WARNING,
        "remove codex_version",
        WORKING,
    ),
    "an untested Codex": (
        but(codex=Codex("0.999.0", "/opt/codex", "as codex_version says", fitness=Fitness.UNTRIED)),
        "codex.version",
        Level.WARNING,
        "doctor --self-test",
        WORKING,
    ),
    "another Codex on PATH": (
        but(
            codex=Codex(
                "0.163.0", "/opt/codex", "installed with codex-mcp", unused="codex is Codex 0.999.0", remedy="update it"
            )
        ),
        "codex.unused",
        Level.WARNING,
        "update it",
        WORKING,
    ),
    "a Codex that does not start": (
        but(core=Core(error="cannot start Codex (/opt/codex): it ended with exit code 1")),
        "codex.handshake",
        Level.ERROR,
        "log/codex-rmcp.log",
        WORKING,
    ),
    "no sign-in": (but(core=Core(needs_sign_in=True)), "sign-in", Level.ERROR, "`codex-mcp login`", WORKING),
    "no sign-in, but a key": (
        but(core=Core(needs_sign_in=True), configuration=Configuration(has_openai_key=True)),
        "sign-in",
        Level.ERROR,
        "printenv OPENAI_API_KEY | codex-mcp login --with-api-key",
        but(core=Core(needs_sign_in=True, account="apiKey"), configuration=Configuration(has_openai_key=True)),
    ),
    "a provider without its key": (
        with_key("MY_KEY", is_set=False),
        "sign-in.provider-key",
        Level.ERROR,
        "set MY_KEY",
        with_key("MY_KEY", is_set=True),
    ),
    "a provider of this machine that does not answer": (
        but(configuration=Configuration(provider=facts.Provider("mine", url="http://x", is_local=True, silence="no"))),
        "sign-in.provider-address",
        Level.ERROR,
        "start it",
        but(configuration=Configuration(provider=facts.Provider("mine", url="http://x", is_local=True))),
    ),
    "a provider elsewhere that does not answer": (
        but(configuration=Configuration(provider=facts.Provider("mine", url="https://x.example", silence="no route"))),
        "sign-in.provider-address",
        Level.WARNING,
        "check the network",
        but(configuration=Configuration(provider=facts.Provider("mine", url="https://x.example"))),
    ),
    "a bad setting": (
        but(
            configuration=Configuration(settings_error=Notice("cannot use port = 'x' from --port: it must be a number"))
        ),
        "settings",
        Level.ERROR,
        "correct this setting",
        WORKING,
    ),
    "a setting without effect": (
        but(configuration=Configuration(warnings=(MISNAMED,))),
        "settings.ignored",
        Level.WARNING,
        "did you mean CODEX_MCP_MODEL?",
        WORKING,
    ),
    "a configuration that Codex refuses": (
        but(core=Core(account="chatgpt", config_error=Notice("unknown variant `sometimes`"))),
        "config.toml",
        Level.ERROR,
        "correct ",
        WORKING,
    ),
    "a configuration that needs a newer Codex": (
        but(
            core=Core(
                account="chatgpt", config_error=Notice("no such provider: this is Codex 0.163.0", "name a newer Codex")
            )
        ),
        "config.toml",
        Level.ERROR,
        "name a newer Codex",
        WORKING,
    ),
    "a configuration that is no TOML": (
        but(core=None, configuration=Configuration(config_path="~/c.toml", syntax_error="line 1")),
        "config.toml",
        Level.ERROR,
        "correct ~/c.toml",
        WORKING,
    ),
    "no bubblewrap": (
        but(sandbox=Sandbox(has_bubblewrap=False)),
        "sandbox.bubblewrap",
        Level.WARNING,
        "install the package bubblewrap",
        WORKING,
    ),
    "forbidden namespaces": (
        but(sandbox=Sandbox("bwrap: no permissions", blocked_by="user.max_user_namespaces=10000")),
        "sandbox",
        Level.WARNING,
        "sudo sysctl -w user.max_user_namespaces=10000",
        WORKING,
    ),
    "a container": (
        but(sandbox=Sandbox("bwrap: no permissions")),
        "sandbox",
        Level.WARNING,
        "allow user namespaces",
        WORKING,
    ),
    "an unusable folder": (
        with_folder(obstacle="~/.codex is not a folder"),
        "folders.codex_home",
        Level.ERROR,
        "setting codex_home",
        WORKING,
    ),
    "a full disk": (with_folder(free_bytes=2**20), "folders.codex_home", Level.ERROR, "free some space", WORKING),
    "a nearly full disk": (
        with_folder(free_bytes=2**29),
        "folders.codex_home",
        Level.WARNING,
        "free some space",
        WORKING,
    ),
    "a sign-in that others can read": (
        but(folders=Folders(open_sign_in="~/.codex/auth.json")),
        "folders.sign-in",
        Level.WARNING,
        "chmod 600 ~/.codex/auth.json",
        WORKING,
    ),
    "a damaged database": (
        but(folders=Folders(damaged_state="file is not a database")),
        "folders.state",
        Level.ERROR,
        "stop all servers",
        WORKING,
    ),
    "a database that cannot be used": (
        but(folders=Folders(database_error=Notice("The state postgresql://db/x does not answer. Try again."))),
        "folders.database",
        Level.ERROR,
        "start the database",
        but(folders=Folders(database="postgresql://db/x, PostgreSQL 16.14")),
    ),
    "a lock": (
        but(folders=Folders(held_locks=("~/x.lock",))),
        "folders.lock",
        Level.WARNING,
        "fuser ~/x.lock",
        WORKING,
    ),
    "a client's file that cannot be read": (
        but(clients=Clients(unreadable=(UnreadableFile("Cursor", "~/.cursor/mcp.json", "byte 7"),))),
        "clients.file",
        Level.WARNING,
        "correct the file",
        WORKING,
    ),
    "a dead server": (
        with_entry("codex", "mcp-server"),
        "clients.old-server",
        Level.ERROR,
        "codex-mcp mcp-server",
        with_entry(*OURS),
    ),
    "a server that dies with the next update": (
        with_entry("codex", "mcp-server", is_path_codex_old=True),
        "clients.old-server",
        Level.WARNING,
        "codex-mcp mcp-server",
        with_entry(*OURS),
    ),
    "a program that was moved": (
        with_entry("/gone/codex-mcp", "mcp-server", is_there=False, our_command="/opt/codex-mcp"),
        "clients.program",
        Level.ERROR,
        "change its command to /opt/codex-mcp",
        with_entry("/opt/codex-mcp", "mcp-server"),
    ),
    "an address where nothing answers": (
        with_address("nothing answers there"),
        "clients.address",
        Level.ERROR,
        "codex-mcp uninstall cursor --scope project --name codex2",
        with_address("answers"),
    ),
    "a plugin and an entry with the same server": (
        but(clients=Clients((in_claude("codex"), in_claude("plugin:codex-mcp:codex", "plugin")))),
        "clients.twice",
        Level.WARNING,
        "codex-mcp uninstall claude",
        but(clients=Clients((in_claude("plugin:codex-mcp:codex", "plugin"),))),
    ),
    "a client that gives up early": (
        with_entry(*OURS, timeout=60),
        "clients.timeout",
        Level.WARNING,
        "--soft-deadline",
        with_entry(*OURS, "--soft-deadline", "45", timeout=60),
    ),
    "a variable that makes Claude Code give up": (
        but(clients=Clients(tool_timeout=60)),
        "clients.timeout",
        Level.WARNING,
        "set it to 3600000",
        but(clients=Clients(tool_timeout=3600)),
    ),
    "a port in use": (
        but(ports=(facts.Port(3333, "the server", problem="in use", instead="choose another port"),)),
        "port",
        Level.WARNING,
        "choose another port",
        but(ports=(facts.Port(3334, "the server", problem="", instead=""),)),
    ),
    "agents that cannot be read": (
        but(agents=facts.Agents(error=Notice("cannot read the state folder ~/s: I/O error", "check its permissions"))),
        "agents",
        Level.ERROR,
        "check its permissions",
        WORKING,
    ),
    "stale agents": (
        but(agents=facts.Agents(9, tuple("abcdefg"))),
        "agents",
        Level.WARNING,
        "codex-mcp threads --prune --older-than 0",
        but(agents=facts.Agents(2)),
    ),
    "an account at its limit": (
        but(agents=facts.Agents(2, limited=(facts.Limited(4711, 1795061872.0),))),
        "agents.account",
        Level.WARNING,
        "`when-limited: try`",
        but(agents=facts.Agents(2)),
    ),
    "an account at a limit without a known end": (
        but(agents=facts.Agents(2, limited=(facts.Limited(4711),))),
        "agents.account",
        Level.WARNING,
        "`when-limited: try`",
        but(agents=facts.Agents(2)),
    ),
    "a turn that fails": (
        but(turn=facts.Turn("no answer")),
        "turn",
        Level.ERROR,
        "report this",
        but(turn=facts.Turn()),
    ),
}


def test_a_machine_where_all_is_well_has_no_problem() -> None:
    assert [finding for finding in judge(WORKING) if finding.level is not Level.OK or finding.fix] == []


def test_an_old_codex_is_not_asked_for_its_sign_in() -> None:
    (found,) = [finding for finding in judge(but(core=Core(is_known=False))) if finding.check == "sign-in"]
    assert (found.level, found.text) == (Level.OK, "unknown: an old Codex cannot be asked")


@pytest.mark.parametrize("flags", [["--soft-deadline=x"], ["--soft-deadline", "soon"], ["--soft-deadline", "90"]])
def test_a_deadline_that_does_not_help_leaves_the_warning(flags: list[str]) -> None:
    assert [finding.check for finding in judge(with_entry(*OURS, *flags, timeout=60)) if finding.fix] == [
        "clients.timeout"
    ]


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_reported_with_advice_and_following_it_removes_the_problem(name: str) -> None:
    problem, check, level, advice, followed = PROBLEMS[name]
    (found,) = [finding for finding in judge(problem) if finding.level is not Level.OK]
    assert (found.check, found.level) == (check, level)
    assert advice in found.fix
    assert [finding for finding in judge(followed) if finding.level is not Level.OK] == []


def reportable() -> set[tuple[str, str]]:
    """The checks that the code can report, with their levels, but for OK."""
    written: set[tuple[str, str]] = set()
    for module in (checks, client_checks):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                check, level = node.args[0], node.args[2]
                assert isinstance(level, ast.Attribute)
                name = check.value if isinstance(check, ast.Constant) else "folders.codex_home"
                written.add((str(name), level.attr))
    return {item for item in written if item[1] != "OK"}


def test_every_problem_that_the_code_can_report_is_in_the_table() -> None:
    assert reportable() == {(check, level.name) for _, check, level, _, _ in PROBLEMS.values()}
