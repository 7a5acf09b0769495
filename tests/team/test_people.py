"""What callers are told of persons."""

from codex_mcp.team.people import LONGEST_SHOWN, MOST_WARNED, Did, PersonAct, warned
from codex_mcp.team.roster import Member
from tests.support.state.agents import an_agent


def act(did: Did = Did.STEERED, person: str = "mira", text: str = "", key: str = "k") -> PersonAct:
    return PersonAct(did, person, text, 0.0, key)


def test_what_a_person_did_is_a_sentence() -> None:
    assert act(text="look").sentence == "mira has steered the agent in an attached Codex TUI: look"
    assert act(Did.INTERRUPTED, "").sentence == "a person has interrupted the agent in an attached Codex TUI."
    shown = act(text="\x1b[2J\n" + "x" * 1000).sentence
    assert "\x1b" not in shown
    assert "\n" not in shown
    assert len(shown) < LONGEST_SHOWN + 100
    assert act(Did.PROMPTED).told["status"] == "prompted"


def test_an_agent_remembers_the_newest() -> None:
    member = Member(an_agent(1))
    for number in range(40):
        member.note_person(act(key=str(number)))
    assert [each.key for each in member.people] == [str(number) for number in range(8, 40)]


def test_an_answer_has_the_newest_and_keeps_its_other_warnings() -> None:
    warnings: tuple[str, ...] = ("before",)
    for number in range(100):
        warnings = warned(warnings, act(text=str(number)))
    assert warnings == ("before", *(act(text=str(number)).sentence for number in range(100 - MOST_WARNED, 100)))
