"""Pure. What came of running the tests with a version of Codex."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

OLD = "0.153.4"
"""Tests of the old Codex run it whatever the version under test."""


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    passed: int
    failed: tuple[str, ...]
    late: tuple[str, ...] = ()
    """Passed only alone, when nothing else ran."""


@dataclass(frozen=True, slots=True)
class Report:
    version: str
    suites: Sequence[Suite]
    ran: Counter[str]
    """Rollout files by the version of the Codex that wrote them."""
    differences: Sequence[str]

    @property
    def is_fit(self) -> bool:
        """Whether everything passed, and with this version alone."""
        is_alone = self.ran[self.version] > 0 and self.ran.keys() <= {self.version, OLD}
        return is_alone and not any(suite.failed or not suite.passed for suite in self.suites)

    def text(self) -> str:
        """The table."""
        lines = [
            f"Codex {self.version}: {'fit' if self.is_fit else 'NOT FIT'}",
            "",
            "| tests | passed | failed |",
            "|---|---|---|",
        ]
        lines += [f"| {suite.name} | {suite.passed} | {len(suite.failed)} |" for suite in self.suites]
        lines += ["", "| threads written by | |", "|---|---|"]
        lines += [f"| Codex {version} | {count} |" for version, count in sorted(self.ran.items())]
        for what, names in (
            ("failed", [name for suite in self.suites for name in suite.failed]),
            ("passed only alone", [name for suite in self.suites for name in suite.late]),
            ("differs from our own in", self.differences),
        ):
            lines += [""] * bool(names) + [f"- {what}: {name}" for name in names]
        return "\n".join(lines)


def suite_from(name: str, xml: str, again: str) -> Suite:
    """What pytest's `--junit-xml` says of a run, and of the run of those that failed in it."""
    cases, failed = _cases(xml)
    second, still = _cases(again)
    late = tuple(each for each in failed if each in second and each not in still)
    failed = [each for each in failed if each not in late]
    return Suite(name, len(cases) - len(failed), tuple(failed), late)


def _cases(xml: str) -> tuple[list[str], list[str]]:
    """All tests, and those that failed."""
    cases = {
        f"{case.get('classname')}::{case.get('name')}": case for case in ElementTree.fromstring(xml).iter("testcase")
    }
    failed = [
        name for name, case in cases.items() if case.find("failure") is not None or case.find("error") is not None
    ]
    return list(cases), failed


def rollout_version(line: bytes) -> str | None:
    """The version in the first line of a rollout file."""
    try:
        found = json.loads(line)["payload"]["cli_version"]
    except (ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None
