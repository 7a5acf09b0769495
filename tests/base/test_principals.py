from codex_mcp.base.principals import account, of_session


def test_what_a_session_starts_belongs_to_its_session_and_counts_for_its_account() -> None:
    first, second = of_session("alice", "one"), of_session("alice", "two")
    assert len({"alice", first, second, of_session("bob", "one")}) == 4
    assert first == of_session("alice", "one")
    assert [account(each) for each in ("alice", first, second)] == ["alice"] * 3
