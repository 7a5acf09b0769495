"""Masking takes time in proportion to the length of a text, whoever has written it."""

import pytest

from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.secrets.rules import expanded, gitleaks_rules
from codex_mcp.base.secrets.shapes import KNOWN, NAMED
from tests.support.regex_samples import sample

HOSTILE = 300_000
"""Characters. Whatever takes time with their square takes hours, and the test's time limit ends it."""


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "token",
            "key=",
            'password="',
            r"password=\"",
            "eyJ",
            "-eyJ",
            "://",
            "://a:b",
            "sk-",
            "bearer ",
            "cookie: a=",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "-----END-",
            "\\",
            "\x1b[",
            "\x1b]",
            "--",
            "-u a:",
            "a",
            " ",
            "aws/",
            "xapp-1-",
        ),
        *(
            "heroku = ",
            "sonar_token: ",
            "sntrys_eyJpYXQiO",
            "AKIA",
            "0",
            "M.",
            "https://a",
            "ops_eyJ",
            "t1.",
            "yandex=t1.",
            "auth=",
            "auth: A0",
            "machine a login a ",
            "machine a.b ",
            "sshpass -v a ",
            "docker login a ",
            "docker ",
            "://a:/",
            "pwd=",
            "rt_aA0",
            "PASS=",
            "'\"'\"'",
            "'\\''",
            "set a_",
            "mysql a ",
            "redis-cli a ",
            "ENV a_",
            "name: a_token ",
            "<password>a",
            "setenv('a_",
            "vault -a ",
            "a]=!a ",
        ),
    ],
)
def test_a_text_made_to_be_slow_is_masked_in_linear_time(unit: str) -> None:
    redact(unit * (HOSTILE // len(unit)))


def test_every_keyword_at_once_takes_linear_time() -> None:
    rules = (*NAMED, *KNOWN, *gitleaks_rules())
    words = [keyword for rule in rules for keyword in rule.keywords]
    cut = [sample(expanded(rule.pattern), 1)[:-1] for rule in rules]
    once = " ".join(words) + "=".join(words) + " ".join(cut)
    redact(once * (1_000_000 // len(once)))
