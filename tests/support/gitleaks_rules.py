"""Translates gitleaks.toml into `rules.json`: `python -m tests.support.gitleaks_rules gitleaks.toml RELEASE`.

gitleaks searches source files with RE2, and wants certain characters around a secret. We mask in log lines, in JSON,
in JSON inside JSON and in URLs, with Python's `re`. So a translated rule accepts whatever is not part of the secret
on both sides, an escape such as `\\n` included, and names and values may be quoted more than once.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

from codex_mcp.base.secrets import rules
from codex_mcp.base.secrets.rules import END, START, Rule, expanded
from tests.support.regex_samples import sample

RULES_FILE: Final = Path(rules.__file__).with_suffix(".json")

SKIPPED: Final = {
    "generic-api-key": "names such as password are in secret_shapes, without stop words",
    "hashicorp-tf-password": "as above",
    "jwt": "in secret_shapes, also without a signature",
    "private-key": "in redact, also when its end is missing",
    "curl-auth-header": "takes quadratic time in a backtracking engine; secret_shapes has the header",
    "curl-auth-user": "takes quadratic time in a backtracking engine; secret_shapes has the option",
    "kubernetes-secret-yaml": "takes quadratic time in a backtracking engine, and applies to files of a certain name",
    "freemius-secret-key": "applies to files of a certain name",
    "nuget-config-password": "applies to files of a certain name",
    "openai-api-key": "in secret_shapes, of any length",
    "pkcs12-file": "is about names of files",
    "slack-config-access-token": "in secret_shapes, of any length",
    "slack-webhook-url": "in secret_shapes, of any length",
    "sidekiq-sensitive-url": "secret_shapes has every URL with a password",
}

KEYWORDS: Final = {
    "airtable-personnal-access-token": ["pat"],
    "gocardless-api-token": ["gocardless"],
    "lob-api-key": ["lob"],
    "lob-pub-api-key": ["lob"],
    "new-relic-browser-api-token": ["new-relic", "newrelic", "new_relic"],
    "new-relic-insert-key": ["new-relic", "newrelic", "new_relic"],
    "new-relic-user-api-key": ["new-relic", "newrelic", "new_relic"],
    "typeform-api-token": ["typeform"],
}
"""Words with which a match begins, where gitleaks looks for another one first."""

BARE_HASH: Final = "|[a-fA-F0-9]{40}"
"""Every commit has such a name; sourcegraph's tokens of that form are not masked."""

AFTER: Final = re.compile(r"""\(\?:\[\\x60'"\\s;\]\|\\\\\[nr\]\|\$(?:\|\\b)?\)""")
BEFORE: Final = r"[\w.-]{0,50}?"
AZURE: Final = (r"""(?:^|[\\'"\x60\s>=:(,)])""", r"""(?:$|[\\'"\x60\s<),])""")
IS: Final = re.compile(r"""\(\?:\[ \\t\\w\.-\]\{0,20\}\)\[\\s'"\]\{0,3\}(\)?)(\(\?:=\|.*?\))\[\\x60'"\\s=\]\{0,5\}\(""")
SAMPLES: Final = 60


def rules_from(toml: str) -> list[Rule]:
    """The rules, translated."""
    found: list[dict[str, Any]] = tomllib.loads(toml)["rules"]
    return [_rule(rule) for rule in found if rule["id"] not in SKIPPED]


def _rule(rule: dict[str, Any]) -> Rule:
    pattern = _pattern(rule["id"], rule["regex"])
    keywords = tuple(KEYWORDS.get(rule["id"], rule["keywords"]))
    named = "(?P<secret>" in pattern
    unclear = named or rule["id"] == "vault-service-token"
    return Rule(rule["id"], keywords, pattern, begins=_begins(pattern, keywords), digit=unclear)


def _pattern(name: str, regex: str) -> str:
    text = regex.replace(BARE_HASH, "").replace("new-york-times,", "new-york-times")
    text = text.replace(BEFORE, "").replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z")
    text, named = IS.subn(r"""[ \\t\\w.-]{0,20}[\\s'"\\\\]{0,6}\1\2[\\x60'"\\s=\\\\]{0,9}(?P<secret>""", text)
    text, ends = AFTER.subn(END, text)
    text = text.replace("(?:[^\\w-]|\\Z)", END).replace("(?:[^a-zA-Z0-9+/]|\\Z)", END)
    text = text.replace(AZURE[0], START).replace(AZURE[1], END)
    closed = END in text or ends or text.endswith(r"\b")
    text = re.sub(r"^(\(\?i\))?((?:\\b)?\(?\\b)", r"\1<START>\2", text)
    text = re.sub(r"\\b(?=$|[)|<])", "<END>", text.replace("<START>\\b", "<START>").replace("<START>(\\b", "<START>("))
    text = text.replace("(\\b(", "((").replace("|\\b(", "|<START>(")
    if name == "twilio-api-key":
        text, closed = f"<START>{text}", True
        text += "<END>"
    if not closed and not named:
        text += r"[\w+/=%-]*" if name == "aws-amazon-bedrock-api-key-short-lived" else r"[\w-]*"
    return _flags_scoped(text)


def _flags_scoped(text: str) -> str:
    """Go's `a(?i)b`, which holds to the end of the group, in Python's words: `a(?i:b)`."""
    result, open_scopes, in_set, at = "", [0], False, 0
    while at < len(text):
        if text.startswith("(?i)", at) and not in_set:
            result, at = result + "(?i:", at + 4
            open_scopes[-1] += 1
            continue
        char = text[at : at + 2] if text[at] == "\\" else text[at]
        if in_set:
            in_set = char != "]"
        elif char == "[":
            in_set = True
        elif char == "(":
            open_scopes.append(0)
        elif char == ")":
            result += ")" * open_scopes.pop()
        result, at = result + char, at + len(char)
    return result + ")" * open_scopes.pop()


def _begins(pattern: str, keywords: tuple[str, ...]) -> bool:
    """Does every match begin with a keyword?"""
    python = expanded(pattern)
    texts = [text for seed in range(SAMPLES) if re.match(python, text := sample(python, seed), re.ASCII)]
    return bool(texts) and all(text.lower().startswith(keywords) for text in texts)


def main() -> None:
    """Write the rules beside the module that reads them."""
    toml, release = sys.argv[1:]
    rules = rules_from(Path(toml).read_text())
    head = f'{{"source": "gitleaks {release}, config/gitleaks.toml, MIT licence: see rules.LICENSE",\n"rules": [\n'
    lines = (json.dumps([*rule], ensure_ascii=False) for rule in rules)
    RULES_FILE.write_text(head + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
