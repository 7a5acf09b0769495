"""`python -m tests.mutants [WORD …]`: apply each mutant and run the test that must notice it; exit 1 if one survives.

With words, only the mutants whose label contains one of them.
"""

import os
import queue
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.table import Mutant, mutants
from tests.mutants.trees import Tree, Verdict


def main(words: list[str]) -> int:
    """Judge the mutants, two at a time on two processors."""
    chosen = [mutant for mutant in mutants() if not words or any(word in mutant.label for word in words)]
    workers = max(1, os.cpu_count() or 1)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        for number in range(workers):
            (home := Path(folder) / str(number)).mkdir()
            trees.put(Tree(home))
        if not _pass_without_mutants(trees, chosen):
            return 1
        with ThreadPoolExecutor(workers) as pool:
            verdicts = list(pool.map(lambda mutant: _judged(trees, mutant), chosen))
    killed = verdicts.count(Verdict.KILLED)
    print(f"mutants: {killed} killed, {len(verdicts) - killed} not")
    return 0 if killed == len(verdicts) else 1


def _pass_without_mutants(trees: "queue.SimpleQueue[Tree]", chosen: list[Mutant]) -> bool:
    tree = trees.get()
    try:
        return tree.passes(mutant.test for mutant in chosen)
    finally:
        trees.put(tree)


def _judged(trees: "queue.SimpleQueue[Tree]", mutant: Mutant) -> Verdict:
    tree = trees.get()
    try:
        verdict = tree.judge(mutant)
    finally:
        trees.put(tree)
    print(f"{verdict:9} {mutant.label}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
