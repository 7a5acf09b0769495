"""When an item begins: every cell of the table."""

from codex_mcp.threads.events.item_life import MAX_ITEMS, Items, Known, Life
from codex_mcp.wire.app.items import ChangeKind, CommandExecution, FileChange, FileUpdate
from codex_mcp.wire.app.notifications import ItemStarted

COMMAND = ItemStarted("turn-1", CommandExecution(id="call-1"), 1)
PATCH = ItemStarted("turn-1", FileChange(id="call-2"), 1)


def held(note: ItemStarted = COMMAND) -> Items:
    items = Items()
    assert items.started(note, waiting=True) is None
    return items


def asked() -> Items:
    items = held()
    items.asked("call-1")
    return items


def begun(note: ItemStarted = COMMAND) -> Items:
    items = Items()
    assert items.started(note, waiting=False) is note
    return items


def life(items: Items) -> Life | None:
    known = items.find("call-1")
    return None if known is None else known.life


def test_an_unknown_item_stays_unknown_whatever_is_said_of_it() -> None:
    items = Items()
    items.asked("call-1")
    items.patched("call-1", [])
    assert items.runs("call-1") is None
    assert items.completed("call-1") is None
    assert life(items) is None


def test_a_running_item_begins_at_once() -> None:
    assert life(begun()) is Life.BEGUN
    for items in (held(), asked()):
        assert items.started(COMMAND, waiting=False) is COMMAND
        assert life(items) is Life.BEGUN


def test_a_waiting_item_is_held_and_may_be_asked_for() -> None:
    assert life(held()) is Life.HELD
    assert life(asked()) is Life.ASKED


def test_an_item_that_is_announced_again_stays_where_it_was() -> None:
    for items, expected in ((held(), Life.HELD), (asked(), Life.ASKED), (begun(), Life.BEGUN)):
        assert items.started(COMMAND, waiting=True) is None
        assert life(items) is expected
    assert begun().started(COMMAND, waiting=False) is None


def test_an_answer_or_output_begins_an_item_once() -> None:
    for items in (held(), asked()):
        assert items.runs("call-1") is COMMAND
        assert items.runs("call-1") is None
        assert life(items) is Life.BEGUN
    assert begun().runs("call-1") is None


def test_a_question_about_a_running_item_changes_nothing() -> None:
    items = begun()
    items.asked("call-1")
    assert life(items) is Life.BEGUN


def test_a_completed_item_is_forgotten_and_says_how_far_it_was() -> None:
    for items, expected in ((held(), Life.HELD), (asked(), Life.ASKED), (begun(), Life.BEGUN)):
        assert items.completed("call-1") == Known(COMMAND, expected)
        assert items.completed("call-1") is None


def test_after_the_turn_only_running_commands_are_known() -> None:
    for items, expected in ((held(), None), (asked(), None), (begun(), Life.BEGUN)):
        items.turn_ended()
        assert life(items) is expected
    patches = begun(PATCH)
    patches.turn_ended()
    assert patches.find("call-2") is None


def test_a_patch_is_known_as_it_was_last_said() -> None:
    items = held(PATCH)
    items.patched("call-2", [FileUpdate("/a", ChangeKind("add"), "x")])
    known = items.find("call-2")
    assert known is not None
    assert isinstance(known.note.item, FileChange)
    assert known.note.item.changes == [FileUpdate("/a", ChangeKind("add"), "x")]
    commands = held()
    commands.patched("call-1", [])
    assert commands.completed("call-1") == Known(COMMAND, Life.HELD)


def test_past_the_limit_the_oldest_is_forgotten() -> None:
    items = held()
    for number in range(MAX_ITEMS):
        items.started(ItemStarted("turn-1", CommandExecution(id=str(number)), 1), waiting=True)
    assert life(items) is None
    assert items.find("0") is not None
