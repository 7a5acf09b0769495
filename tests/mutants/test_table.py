"""The table of mutants fits the product: every change applies, and every named test exists."""

import pytest

from tests.mutants.table import ROOT, Mutant, mutants
from tests.support.requirements import requirements
from tests.test_requirements import shown

BY_LABEL = {mutant.label: mutant for mutant in mutants()}


def test_every_mutant_has_a_label_of_its_own() -> None:
    assert len(BY_LABEL) == len(mutants())


@pytest.mark.parametrize("label", BY_LABEL)
def test_it_changes_the_product_in_one_place(label: str) -> None:
    mutant = BY_LABEL[label]
    assert mutant.applied((ROOT / mutant.path).read_text(encoding="utf-8"))


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
