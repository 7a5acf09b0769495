"""Pure. Guess the known name that an unknown one was meant to be."""

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that differs in the fewest letters, if it is close enough to be a typo."""
    plain = name.lower().replace("-", "_")
    candidates = [(_distance(plain, other.lower().replace("-", "_")), other) for other in known]
    if not candidates:
        return None
    distance, found = min(candidates)
    # Beyond one wrong letter in three, a guess confuses more than it helps.
    return found if distance * 3 <= max(len(name), len(found)) else None


def _distance(one: str, other: str) -> int:
    """How many letters to insert, delete, replace or swap with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        two_before, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, two_before[j - 2] + 1)
            row.append(cost)
    return row[-1]
