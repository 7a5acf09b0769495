"""How principals share what is limited: the greedy one pays, and nobody who keeps within his share."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.transports.budgets import Budget, Rank, Use

RANKS = st.sampled_from([Rank.IDLE, Rank.QUIET, Rank.BUSY])


def taken(budget: Budget[str], key: str, principal: str, uses: dict[str, Use] | None = None) -> str | None:
    """Take one, and let go of what must go."""
    budget.hold(key, principal)
    gone = budget.to_go(key, lambda each: (uses or {}).get(each, Use(Rank.BUSY)))
    if gone is not None:
        budget.release(gone)
    return gone


def test_there_is_room_up_to_the_limit() -> None:
    budget: Budget[str] = Budget(3)
    assert [taken(budget, f"a{number}", "ada") for number in range(4)] == [None, None, None, "a3"]
    assert (len(budget), budget.total, budget.of("ada"), budget.of("bob")) == (3, 3, 3, 0)
    assert "a0" in budget
    budget.release("a0")
    budget.release("a0")
    assert (list(budget), budget.total) == (["a1", "a2"], 2)


def test_of_the_greedy_one_an_idle_one_goes_first_then_a_quiet_one_then_the_oldest() -> None:
    budget: Budget[str] = Budget(4)
    uses = {"a0": Use(Rank.BUSY), "a1": Use(Rank.QUIET), "a2": Use(Rank.IDLE, 9.0), "a3": Use(Rank.IDLE, 8.0)}
    for key in uses:
        assert taken(budget, key, "ada", uses) is None
    assert taken(budget, "b0", "bob", uses) == "a3", "idle for longer than the other"
    assert taken(budget, "c0", "cleo", uses) == "a2"
    assert taken(budget, "d0", "dora", uses) == "a1"
    assert taken(budget, "e0", "emil", uses) == "e0", "everybody has one"


def test_whoever_has_the_most_pays_for_his_own_next_one_with_what_he_does_not_use() -> None:
    budget: Budget[str] = Budget(3)
    uses = {"a1": Use(Rank.QUIET), "b0": Use(Rank.IDLE)}
    for key, principal in (("a0", "ada"), ("a1", "ada"), ("b0", "bob")):
        assert taken(budget, key, principal, uses) is None
    assert taken(budget, "a2", "ada", uses) == "a1"
    assert taken(budget, "a3", "ada", uses) == "a3", "all of hers are busy"


def test_the_largest_goes_where_sizes_differ_and_one_principal_has_no_more_than_its_part() -> None:
    budget: Budget[str] = Budget(100, 50)
    for key, size in (("a0", 10), ("a1", 30)):
        budget.hold(key, "ada", size)
    for key, size in (("b0", 20), ("b1", 25), ("c0", 5)):
        budget.hold(key, "bob" if key < "c" else "cleo", size)
    busy = Use(Rank.BUSY)
    assert budget.to_go("c0", lambda _: busy) is None
    budget.hold("c0", "cleo", 20)
    assert budget.to_go("c0", lambda _: busy) == "b1"
    budget.change("b1", 5)
    assert budget.to_go("c0", lambda _: busy) is None
    budget.change("unknown", 5)
    budget.hold("a1", "ada", 41)
    assert budget.to_go("a1", lambda _: busy) == "a1", "51 of hers, although the whole is not used up"
    budget.hold("a1", "ada", 0)
    assert (budget.of("ada"), "a1" in budget) == (10, False)


@given(
    st.integers(1, 12),
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), RANKS, st.booleans()), max_size=60),
)
def test_nobody_within_his_share_loses_anything_to_another(
    limit: int, principals: int, steps: list[tuple[int, int, Rank, bool]]
) -> None:
    budget: Budget[int] = Budget(limit)
    owner: dict[int, str] = {}
    sizes: dict[int, int] = {}
    ranks: dict[int, Rank] = {}
    for number, (who, size, rank, leaves) in enumerate(steps):
        if leaves and owner:
            key = next(iter(owner))
            budget.release(key)
            del owner[key]
            continue
        mine = f"principal {who % principals}"
        owner[number], sizes[number], ranks[number] = mine, size, rank
        budget.hold(number, mine, size)
        before = {each: sum(sizes[key] for key, of in owner.items() if of == each) for each in owner.values()}
        while number in owner and (gone := budget.to_go(number, lambda key: Use(ranks[key], key))) is not None:
            loser = owner.pop(gone)
            budget.release(gone)
            if loser != mine:
                assert before[loser] > limit // len(before), "it was within its share"
                assert before[loser] > before[mine]
                before[loser] -= sizes[gone]
            elif gone != number:
                assert ranks[gone] < Rank.BUSY or sizes[gone] > sizes[number]
                before[mine] -= sizes[gone]
        assert budget.total == sum(sizes[key] for key in owner) <= limit
