import re

from codex_mcp.base.secrets.rules import END, START, compiled, expanded, gitleaks_rules
from tests.support.regex_samples import sample


def test_the_rules_of_gitleaks_are_all_there_and_compile() -> None:
    rules = gitleaks_rules()
    assert len(rules) > 200
    assert len({rule.name for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.keywords
        assert all(keyword == keyword.lower() for keyword in rule.keywords)
        compiled(rule.pattern)


def test_a_rule_whose_matches_begin_with_a_keyword_says_the_truth() -> None:
    for rule in gitleaks_rules():
        text = sample(expanded(rule.pattern), 1)
        if rule.begins and compiled(rule.pattern).match(text):
            assert text.lower().startswith(rule.keywords), rule.name


def test_a_secret_starts_after_an_escape_and_not_within_a_word() -> None:
    word = re.compile(expanded(f"{START}AKIA{END}"))
    for before in ("", " ", '"', "=", r"\n", r"\t", r"\u001b", r"\x1b", "%3D", "_", "-"):
        assert word.search(f"{before}AKIA"), before
    for around in ("xAKIA", "AKIAx", "9AKIA"):
        assert not word.search(around)
