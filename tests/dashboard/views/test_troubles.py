"""What stops several agents at once is told once."""

from msgspec.structs import replace

from codex_mcp.dashboard.views.facts import AccountFacts, CoreFacts, FleetFacts, ServerFacts, Silent, Window
from codex_mcp.dashboard.views.pages import fleet_page, needs_page
from codex_mcp.dashboard.views.troubles import Limit, account_limits, common_troubles, window_name
from tests.support.dashboard.facts import NOW, agent, asked

OUT = "Codex is not signed in. Run `codex-mcp login`"
LIMIT = "cannot start a turn: the account has reached its usage limit, which ends in 5 min"


def test_an_account_that_is_used_up_is_one_card_and_not_one_for_each_agent() -> None:
    agents = [agent(f"a{number}", last_error=LIMIT, paused=LIMIT, mail=1) for number in range(50)]
    facts = FleetFacts(agents=agents, health=[ServerFacts(key="n", account=AccountFacts(is_limited=True))])
    page = needs_page(facts, lambda _: False, NOW, chosen="account/limit")
    assert ([item.key for item in page.items], page.counts.need) == (["account/limit"], 1)
    assert page.trouble is not None
    assert (page.trouble.name, page.trouble.text) == ("The account", LIMIT)
    # Once the account takes requests again, each failure is its agent's.
    assert needs_page(FleetFacts(agents=agents), lambda _: False, NOW).counts.need == 50


def test_signed_out_is_one_card_with_the_command() -> None:
    facts = FleetFacts(agents=[agent("a", last_error=OUT), agent("b", last_error=OUT), agent("c", last_error="broken")])
    page = needs_page(facts, lambda _: False, NOW, chosen="account/sign-in")
    assert [item.key for item in page.items] == ["account/sign-in", "agent/codex:c"]
    assert page.trouble is not None
    assert page.trouble.command == "codex-mcp login"


def test_a_codex_that_stopped_is_one_card_until_it_runs_again() -> None:
    core = CoreFacts(None, "0.163.0", 1, "killed by signal 9", NOW - 5)
    (found,) = common_troubles(FleetFacts(health=[ServerFacts(key="n", pid=4711, core=core)]))
    assert (found.name, found.sentence) == ("Codex of server process 4711", "stopped: killed by signal 9")
    again = CoreFacts(5, "0.163.0", 2, "killed by signal 9", NOW - 5)
    assert not list(common_troubles(FleetFacts(health=[ServerFacts(key="n", core=again)])))
    fleet = fleet_page(FleetFacts(health=[ServerFacts(key="n", pid=4711, core=core)]), lambda _: False, NOW)
    assert [item.key for item in fleet.troubles] == ["core/n"]


def test_a_server_that_does_not_answer_is_one_card_and_its_questions_stay_without_buttons() -> None:
    facts = FleetFacts([agent(f"a{number}") for number in range(50)], [asked(agent="a1", thread="thread-a1")])
    silent = replace(facts, silent=[Silent("node", "server process 4711 does not answer", NOW - 5)])
    page = needs_page(silent, lambda _: False, NOW, chosen="server/node")
    assert [item.key for item in page.items] == ["server/node", "1f/question-1"]
    assert (page.counts.need, page.sentence) == (2, "1 agent and 1 more thing need you.")
    assert page.trouble is not None
    assert page.trouble.sentence == "cannot be reached: server process 4711 does not answer"
    assert page.trouble.text == "50 agents of it are shown as last heard of."
    card = needs_page(silent, lambda _: False, NOW, chosen="1f/question-1").card
    assert card is not None
    assert card.silent == "server process 4711 does not answer"
    again = needs_page(facts, lambda _: False, NOW, chosen="1f/question-1").card
    assert again is not None
    assert again.silent == ""


def test_limits_of_an_account_are_told_once() -> None:
    one, other = (AccountFacts(windows=[Window(used, 300), Window(5.0, 10_080)]) for used in (20.0, 78.4))
    facts = FleetFacts(health=[ServerFacts(key="a", account=one), ServerFacts(key="b", account=other)])
    assert account_limits(facts) == [Limit("5 hours", 78.4), Limit("week", 5.0)]


def test_windows_have_names() -> None:
    names = [window_name(Window(window_minutes=minutes)) for minutes in (300, 60, 1440, 10080, 20160, 45, None)]
    assert names == ["5 hours", "hour", "day", "week", "2 weeks", "45 minutes", "window"]
