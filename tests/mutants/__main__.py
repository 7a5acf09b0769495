"""`python -m tests.mutants [WORD …]`: apply each mutant and run the test that must notice it; exit 1 if one survives.

With words, only the mutants whose label contains one of them. `--tenth` takes every tenth mutant, and begins at another
one with each commit; it starts none after `--seconds`.
"""

import argparse
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.table import ROOT, SHARES, Mutant, misfits, mutants, share_of
from tests.mutants.trees import Tree, Verdict


def main() -> int:
    """Judge the mutants, two at a time on two processors."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--tenth", action="store_true", help="those of this commit")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no mutant after that")
    asked = parser.parse_args()
    until = time.monotonic() + asked.seconds
    chosen: Sequence[Mutant] = [
        mutant for mutant in mutants() if not asked.words or any(word in mutant.label for word in asked.words)
    ]
    if asked.tenth:
        chosen = _of_this_commit(chosen)
    if wrong := misfits(chosen):
        print("\n".join(wrong))
        return 1
    verdicts = _verdicts(chosen, until)
    if verdicts is None:
        return 1
    counts = {verdict: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}
    print("mutants:", ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 0 if counts.keys() <= {Verdict.KILLED, Verdict.NOT_TRIED} else 1


def _of_this_commit(chosen: Sequence[Mutant]) -> Sequence[Mutant]:
    """So that the same commit tries the same ones again."""
    words = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    share = share_of(commit)
    print(f"mutants: every {SHARES}th from number {share + 1} on, as commit {commit[:12]} has it", flush=True)
    return chosen[share::SHARES]


def _verdicts(chosen: Sequence[Mutant], until: float) -> list[Verdict] | None:
    """What the tests say to each, or None if they fail without any."""
    workers = max(1, os.cpu_count() or 1)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        for number in range(workers):
            (home := Path(folder) / str(number)).mkdir()
            trees.put(Tree(home))
        if not _pass_without_mutants(trees, chosen):
            return None
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda mutant: _judged(trees, mutant, until), chosen))


def _pass_without_mutants(trees: "queue.SimpleQueue[Tree]", chosen: Sequence[Mutant]) -> bool:
    tree = trees.get()
    try:
        return tree.passes(sorted({mutant.test for mutant in chosen}))
    finally:
        trees.put(tree)


def _judged(trees: "queue.SimpleQueue[Tree]", mutant: Mutant, until: float) -> Verdict:
    tree = trees.get()
    try:
        verdict = tree.judge(mutant) if time.monotonic() < until else Verdict.NOT_TRIED
    finally:
        trees.put(tree)
    print(f"{verdict:9} {mutant.label}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
