"""The page Health: what is wrong comes first, and each line says what to do."""

from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.dashboard.desks.health import HEIGHT, WIDTH, Check, HealthPage, health_page
from codex_mcp.dashboard.views.facts import (
    AccountFacts,
    CoreFacts,
    EnvironmentFacts,
    FleetFacts,
    ServerFacts,
    Silent,
    Window,
)
from codex_mcp.dashboard.views.rows import Counts
from codex_mcp.team.records.audit_entry import AuditEntry
from tests.support.dashboard.facts import NOW, agent

WELL = ServerFacts(key="a", pid=1, version="1", team="home", lease="holding", core=CoreFacts(7, "0.163.0", 1), agents=2)


def page(*servers: ServerFacts, **facts: object) -> HealthPage:
    return health_page(FleetFacts(health=servers, servers=len(servers), **facts), Counts(), NOW)  # type: ignore[arg-type]


def test_a_server_that_is_well_says_so() -> None:
    found = page(WELL)
    assert (found.sentence, {each.level for each in found.checks}) == ("Everything is well.", {"ok"})
    assert page().checks[0] == Check("ok", "Servers", "none runs", "a client starts one, or codex-mcp serve")


def test_what_is_wrong_comes_first_with_what_to_do() -> None:
    limits = AccountFacts(windows=[Window(85.0, 300, NOW + 3600.0), Window(20.0, 10080)])
    found = page(
        ServerFacts(
            key="a", pid=1, version="1", lease="holding", core=CoreFacts(None, "", 1, "exit 137", NOW), account=limits
        ),
        ServerFacts(key="b", pid=2, version="2", lease="frozen", core=CoreFacts(9, "0.163.0", 2, "exit 1")),
        silent=[Silent("c", "server process 3 does not answer")],
        environments=[EnvironmentFacts(key="a/gpu", name="gpu", state="not reached", why="refused")],
        agents=[agent(last_error="Codex is not signed in. Run", held_mail=2)],
    )
    levels = [each.level for each in found.checks]
    assert levels == sorted(levels, key=("bad", "warn", "ok").index)
    said = {each.name: (each.level, each.text, each.hint) for each in found.checks}
    assert said["Codex of process 1"] == ("bad", "stopped: exit 137", "the next call starts it again")
    assert said["Codex of process 2"][::2] == ("warn", "the one before ended with exit 1")
    assert said["Server process 2"][1] == "its lease on the store is frozen"
    assert said["Server"][1] == "server process 3 does not answer"
    assert said["Executor gpu"][:2] == ("bad", "refused")
    assert said["Sign-in"][2] == "codex-mcp login"
    assert said["Account"] == ("warn", "85 % of the limit per 5 hours used", "it is reset in 60 min")
    assert said["Mail"][:2] == ("warn", "2 messages held back by the loop protection")
    assert said["Versions"][0] == "warn"
    assert found.sentence == "5 things are wrong, 4 things to watch."
    assert [(each.name, each.percent, each.is_near) for each in found.limits] == [
        ("per 5 hours", 85.0, True),
        ("per week", 20.0, False),
    ]


def test_the_last_hour_is_drawn_within_its_frame() -> None:
    entries = [
        AuditEntry(timestamp=format_timestamp(NOW - 60 * ago), event="codex", outcome="ok", tokens=100 * ago)
        for ago in range(90)
    ]
    tokens, turns = page(WELL, audit=entries).sparks
    points = [tuple(map(float, each.split(","))) for each in tokens.line.split()]
    assert (len(points), tokens.value, turns.value) == (60, "177 k", "59")
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
    assert page(WELL).sparks[0].line == ""


def test_who_has_used_most_comes_first_and_the_rest_is_summed_up() -> None:
    agents = [agent(f"a{number}", tokens=1000 * number, cost=0.5) for number in range(12)]
    spent = page(WELL, agents=agents).spent
    assert [each.name for each in spent] == [*(f"a{number}" for number in range(11, 3, -1)), "3 others"]
    assert (spent[0].percent, spent[0].text, spent[-1].text) == (100.0, "11 k · 0.50", "6 k · 1.50")


def test_the_end_of_the_audit_leaves_out_what_only_read_something() -> None:
    at = format_timestamp(NOW)
    entries = [
        AuditEntry(timestamp=at, event="codex_diff", outcome="ok"),
        AuditEntry(timestamp=at, event="codex_diff", outcome="refused", error="unknown agent"),
        AuditEntry(timestamp=at, event="codex", outcome="ok", identity="arch"),
        AuditEntry(timestamp=at, event="approval", outcome="ok", by="mira"),
    ]
    assert [line.event for line in page(WELL, audit=entries).tail] == ["codex diff", "codex", "approval"]
