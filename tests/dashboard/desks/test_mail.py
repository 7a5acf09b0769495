"""The page Mail: conversations, how far each message came, and who may do what."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.dashboard.desks.mail import Choice, MailPage, Reader, mail_page, unread_for
from codex_mcp.dashboard.views.facts import FleetFacts
from codex_mcp.dashboard.views.rows import Counts
from codex_mcp.wire.control_mail import LetterFacts
from tests.support.dashboard.facts import HARM, NOW, agent

MIRA = Reader("mira", may_write=True)


def letter(number: int, sender: str = "arch", to: str = "dev", **changes: Any) -> LetterFacts:
    base: dict[str, Any] = {
        "key": f"{to}@home/{number}",
        "id": str(number),
        "team": "home",
        "to": to,
        "sender": sender,
        "text": "Hi.",
        "sent_at": NOW - number,
    }
    return LetterFacts(**(base | changes))


def shown(*letters: LetterFacts, of: str = "", id: str = "", reader: Reader = MIRA) -> MailPage | None:  # noqa: A002
    facts = FleetFacts(agents=[agent("dev", team="home"), agent("gone", status="stale", team="home")], letters=letters)
    return mail_page(facts, Counts(), NOW, reader, Choice(of, id))


def page(*letters: LetterFacts, **options: Any) -> MailPage:
    found = shown(*letters, **options)
    assert found is not None
    return found


def test_messages_of_two_names_are_one_conversation_the_newest_first() -> None:
    found = page(letter(1), letter(2, "dev", "arch"), letter(3, "arch", "mira"), id="2")
    assert [(each.sender, each.to, each.number, each.unread) for each in found.conversations] == [
        ("arch", "dev", 2, 0),
        ("arch", "mira", 1, 1),
    ]
    assert ([each.id for each in found.letters], found.about) == (["2", "1"], "dev and arch · 2 messages")
    assert (found.sentence, [each.is_current for each in found.conversations]) == ("1 message for you.", [True, False])
    assert [each.value for each in found.recipients if each.is_chosen] == ["codex:dev"]


def test_each_message_says_how_far_it_came_and_why_it_waits() -> None:
    times = {"offered": NOW, "steered": NOW, "started": NOW + 1, "read": NOW + 2}
    found = page(
        letter(1, is_read=True, times=times, offers=2, is_urgent=True, agent="codex:dev"),
        letter(2, why="it is busy", agent="codex:dev"),
        letter(3, is_read=True),
        id="1",
    )
    steps = {each.id: [step.text for step in each.steps] for each in found.letters}
    assert steps == {
        "1": ["sent", "offered", "added to its turn", "turn started", "read"],
        "2": ["sent"],
        "3": ["sent", "read"],
    }
    assert [each.why for each in found.letters] == ["", "it is busy", ""]
    assert found.letters[-1].marks == ["urgent", "delivered again (2 times)"]
    assert page(letter(1, to="gone"), id="1").letters[0].why == "no server runs it"


def test_who_may_only_read_is_offered_nothing() -> None:
    mine = letter(1, to="mira", can_be_delivered=True)
    reader = Reader("mira")
    assert (page(mine, id="1").letters[0].is_mine, page(mine, id="1").letters[0].can_be_delivered) == (True, True)
    found = page(mine, id="1", reader=reader)
    assert (found.letters[0].is_mine, found.letters[0].can_be_delivered, found.recipients) == (False, False, [])


def test_a_filter_shows_the_mail_of_one_name_and_an_unknown_message_is_not_there() -> None:
    letters = (letter(1), letter(2, "arch", "mira"))
    assert [each.to for each in page(*letters, of="me").conversations] == ["mira"]
    assert [each.to for each in page(*letters, of="dev").conversations] == ["dev"]
    assert shown(*letters, id="9") is None


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.booleans()), max_size=9), st.integers(0, 9)
)
def test_no_message_is_lost_and_the_number_is_that_of_the_unread(
    drawn: list[tuple[str, str, bool]], chosen: int
) -> None:
    letters = [letter(at, sender, to, is_read=read, text=HARM) for at, (sender, to, read) in enumerate(drawn)]
    reader = Reader("a", may_write=True)
    found = shown(*letters, id=str(chosen), reader=reader)
    assert (found is None) == (chosen >= len(letters))
    everything = page(*letters, reader=reader)
    assert sum(each.number for each in everything.conversations) == len(letters)
    assert unread_for(FleetFacts(letters=letters), "a") == sum(each.unread for each in everything.conversations)
    assert msgspec.json.decode(msgspec.json.encode(everything), type=MailPage) == everything
