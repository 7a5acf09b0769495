"""The page Executors: places and the commands in them."""

from codex_mcp.dashboard.desks.executors import ExecutorsPage, executors_page
from codex_mcp.dashboard.views.facts import EnvironmentFacts, FleetFacts, ServerFacts
from codex_mcp.dashboard.views.rows import Counts
from tests.support.dashboard.facts import NOW, agent, asked

PLACES = [
    EnvironmentFacts(key="node/local", name="local", state="this machine", agents=2),
    EnvironmentFacts(key="other/local", name="local", state="this machine", agents=1),
    EnvironmentFacts(key="node/gpu", name="gpu", url="ws://h:1", state="in use", since=NOW - 9, agents=1),
    EnvironmentFacts(key="other/gpu", name="gpu", url="ws://h:1", state="not reached", since=NOW, why="refused"),
]
FACTS = FleetFacts(
    agents=[
        agent("api-1", thread_state="busy", doing="running git push"),
        agent("dev", thread_state="busy", doing="running /bin/bash -lc 'make test'", heard=NOW - 400),
        agent("perf", thread_state="busy", doing="running k6", environment="gpu"),
        agent("idle", doing="running nothing"),
    ],
    asked=[asked()],
    environments=PLACES,
    health=[ServerFacts(key="node", pid=1), ServerFacts(key="other", pid=2)],
)


def page(facts: FleetFacts = FACTS, chosen: str = "") -> ExecutorsPage:
    found = executors_page(facts, Counts(), NOW, chosen)
    assert found is not None
    return found


def test_each_environment_is_shown_as_each_server_has_it_and_this_machine_once() -> None:
    rows = [(each.name, each.state, each.server, each.agents, each.commands) for each in page().places]
    assert rows == [
        ("local", "this machine", "", 3, 1),
        ("gpu", "not reached", "process 2", 0, 0),
        ("gpu", "in use", "process 1", 1, 1),
    ]


def test_one_that_nobody_uses_is_shown_once() -> None:
    unused = [
        EnvironmentFacts(key=f"{node}/{name}", name=name, url="ws://h:1", state="not in use")
        for node in ("node", "other")
        for name in ("arm", "gpu")
    ]
    facts = FleetFacts(environments=[*PLACES[:3], *unused], health=FACTS.health)
    rows = [(each.name, each.state, each.server) for each in page(facts).places[1:]]
    assert rows == [("arm", "not in use", ""), ("gpu", "in use", "process 1")]


def test_commands_that_run_are_listed_and_one_that_waits_for_an_answer_does_not_run() -> None:
    found = page()
    assert [(each.agent, each.text, each.place, each.quiet) for each in found.commands] == [
        ("dev", "make test", "local", True),
        ("perf", "k6", "gpu", False),
    ]
    assert (found.sentence, found.detail) == ("2 commands run on 2 machines.", "gpu is not reached")
    assert page(chosen="gpu").sentence == "1 command runs on 1 machine."
    assert page(FleetFacts(environments=PLACES)).sentence == "No command runs."
    assert executors_page(FACTS, Counts(), NOW, "unknown") is None
