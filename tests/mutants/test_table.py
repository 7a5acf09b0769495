"""The table of mutants fits the product: every change applies, and every named test exists."""

import pytest

from tests.mutants.table import ROOT, SHARES, Mutant, misfits, mutants, share_of
from tests.support.requirements import requirements
from tests.test_requirements import shown

BY_LABEL = {mutant.label: mutant for mutant in mutants()}


def test_every_mutant_has_a_label_of_its_own() -> None:
    assert len(BY_LABEL) == len(mutants())


def test_each_changes_the_product_in_one_place() -> None:
    assert misfits(mutants()) == []


def test_a_mutant_of_a_file_that_is_gone_is_named() -> None:
    gone = Mutant("nothing", "gone.py", "a", "b", "tests/test_x.py::test_y")
    [why] = misfits([gone, mutants()[0]])
    assert why.startswith("gone.py: nothing: ")


def test_each_commit_tries_one_of_the_shares() -> None:
    assert [share_of(f"{number:040x}") for number in (0, 9, 10, 27)] == [0, 9, 0, 7]
    assert sorted(mutant.label for share in range(SHARES) for mutant in mutants()[share::SHARES]) == sorted(BY_LABEL)


def test_every_named_test_exists() -> None:
    missing = [mutant.test for mutant in mutants() if not _exists(mutant)]
    assert missing == []


def _exists(mutant: Mutant) -> bool:
    file, _, name = mutant.test.partition("::")
    path = ROOT / file
    return path.is_file() and f"def {name.partition('[')[0]}(" in path.read_text(encoding="utf-8")


def test_every_requirement_has_a_mutant_that_its_own_test_kills() -> None:
    killers = {
        mutant.requirement
        for mutant in mutants()
        if mutant.requirement is not None
        and mutant.test.partition("[")[0].removeprefix("tests/") in shown().get(mutant.requirement, [])
    }
    missing = [name for name, each in requirements().items() if each.waits_for is None and name not in killers]
    assert missing == []


def test_a_mutant_of_a_requirement_names_a_test_of_that_requirement() -> None:
    unmarked = [
        mutant.label
        for mutant in mutants()
        if mutant.requirement is not None
        and mutant.test.partition("[")[0].removeprefix("tests/") not in shown().get(mutant.requirement, [])
    ]
    assert unmarked == []


def test_a_change_that_does_not_fit_is_an_error() -> None:
    def change(find: str, replace: str) -> Mutant:
        return Mutant("nothing", "a.py", find, replace, "tests/test_x.py::test_y")

    with pytest.raises(ValueError, match="2 times"):
        change("a", "b").applied("a = a\n")
    with pytest.raises(ValueError, match="no effect"):
        change("a = 1", "a =  1").applied("a = 1\n")
    assert change("1", "2").applied("a = 1\n") == "a = 2\n"
