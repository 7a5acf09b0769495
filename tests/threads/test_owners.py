"""To whom threads belong, in memory and on disk."""

import stat
from pathlib import Path

from codex_mcp.threads.owners import DATABASE, LOCAL, EverybodyIsLocal, RecordedOwners


def test_without_tokens_every_thread_is_local() -> None:
    owners = EverybodyIsLocal()
    owners.record("a", "alice")
    assert owners.owner("a") == LOCAL


def test_whoever_started_a_thread_owns_it_and_keeps_it(tmp_path: Path) -> None:
    first = RecordedOwners(str(tmp_path))
    first.record("a", "alice")
    first.record("b", "bob")
    first.record("a", "bob")

    second = RecordedOwners(str(tmp_path))
    assert [second.owner(thread) for thread in ("a", "b", "c")] == ["alice", "bob", LOCAL]

    first.close()
    second.close()
    assert stat.S_IMODE((tmp_path / DATABASE).parent.stat().st_mode) == 0o700


def test_two_servers_of_one_home_see_each_others_threads(tmp_path: Path) -> None:
    one, other = RecordedOwners(str(tmp_path)), RecordedOwners(str(tmp_path))
    one.record("a", "alice")
    other.record("b", "bob")
    assert (other.owner("a"), one.owner("b")) == ("alice", "bob")
    one.close()
    other.close()
