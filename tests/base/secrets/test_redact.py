import base64
import json
import random
import re
import string
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.secrets.redact import MASK, redact
from codex_mcp.base.secrets.rules import Rule, compiled, expanded, gitleaks_rules
from codex_mcp.base.secrets.shapes import KNOWN
from tests.support.regex_samples import sample

TOKEN_CHARACTERS = string.ascii_letters + string.digits + "._~+/=-"
tokens = st.text(TOKEN_CHARACTERS, min_size=12, max_size=80)
harmless = st.text(string.ascii_lowercase + " .,(){}<>#", max_size=60).filter(
    lambda text: (
        not any(word in text for word in ("bearer", "authorization", "key", "secret", "passw", "token", "credential"))
    )
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc.def", "Authorization: Bearer ****"),
        ("authorization: bearer abc", "authorization: bearer ****"),
        ("BEARER abc and more", "BEARER **** and more"),
        ('{"Authorization":"Bearer abc"}', '{"Authorization":"Bearer ****"}'),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ****"),
        ("key sk-proj-abcdefgh12 used", "key sk-**** used"),
        ("OPENAI_API_KEY=abc123 codex", "OPENAI_API_KEY=**** codex"),
        ('{"apiKey":"abc","model":"m"}', '{"apiKey":"****","model":"m"}'),
        (r'{"text":"{\"apiKey\":\"abc\"}"}', r'{"text":"{\"apiKey\":\"****\"}"}'),
        ("api_key = 'a b c'", "api_key = '****'"),
        ('"apiKey": "cut in the mid', '"apiKey": "****'),
        ("access_token=abc&next=1", "access_token=****&next=1"),
        ("password: hunter2", "password: ****"),
        ('"env": {"NPM_TOKEN": "abc"}', '"env": {"NPM_TOKEN": "****"}'),
        ("x-gitlab-token: abc", "x-gitlab-token: ****"),
        ("got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig_x end", "got **** end"),
        ("push with ghp_0123456789abcdefghij", "push with ****"),
        ("proxy http://me:pw@host:8080/", "proxy http://me:****@host:8080/"),
        ("used 120 tokens, total_tokens=120", "used 120 tokens, total_tokens=120"),
        ("progressToken=7 thread=0192", "progressToken=7 thread=0192"),
        ("task-risk sk-1 keyboard: qwerty", "task-risk sk-1 keyboard: qwerty"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_what_is_masked_and_what_is_not(text: str, expected: str) -> None:
    assert redact(text) == expected


@given(harmless, st.sampled_from(["Bearer ", "bearer ", "BEARER  ", "bEaReR\t"]), tokens, harmless)
def test_no_bearer_token_survives(before: str, scheme: str, token: str, after: str) -> None:
    masked = redact(f"{before} {scheme}QQ{token}QQ {after}")
    assert "QQ" not in masked
    assert f"{scheme}{MASK}" in masked


@given(
    st.sampled_from(
        [
            "api_key",
            "apiKey",
            "OPENAI_API_KEY",
            "access_token",
            "refresh-token",
            "client_secret",
            "password",
            "NPM_TOKEN",
        ]
    ),
    st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=8, max_size=40),
    st.integers(min_value=0, max_value=3),
)
def test_no_named_secret_survives_in_json_however_often_it_is_quoted(name: str, secret: str, depth: int) -> None:
    secret = f"qqq{secret}qqq"
    text = json.dumps({name: secret, "other": 1}, ensure_ascii=False)
    for _ in range(depth):
        text = json.dumps(text, ensure_ascii=False)
    assert "qqq" not in redact(text)


@given(tokens.map(lambda token: f"sk-{token.replace('.', 'x').replace('~', 'y')}"))
def test_no_api_key_survives(key: str) -> None:
    letters = "".join(c if c.isalnum() or c in "-_" else "z" for c in key)
    assert letters not in redact(f"failed with {letters}!")


@given(harmless)
def test_other_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


@given(st.text(max_size=200))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)


KNOWN_SECRETS = [*KNOWN, *gitleaks_rules()]
"""Rules that know a secret by its form, so that secrets of that form can be drawn at random."""

CONTEXTS = {
    "alone": "{}",
    "after an escaped line break": r"before\n{}",
    "after an escaped tab": r"\t{}\r\nafter",
    "in quotes": '"{}"',
    "in single quotes": "'{}'",
    "in backticks": "run `{}` now",
    "in a URL": "https://host.example/path?x={}&y=1",
    "in brackets": "({})",
    "before a comma": "one, {}, two",
    "after an equals sign": "X={};",
    "coloured": "\x1b[1;31m{}\x1b[0m",
    "coloured, as JSON writes it": r"\u001b[1;31m{}\u001b[0m",
}


JOINTS = (" = ", ": ", '": "', "=")
"""How a name and its value are joined in files; a pattern allows more than anybody writes."""


def samples(rule: Rule, count: int) -> list[tuple[str, str]]:
    """Texts that the rule is made for, each with the part of it that is secret."""
    found: list[tuple[str, str]] = []
    for seed in range(count * 20):
        text = sample(expanded(rule.pattern), seed)
        match = compiled(rule.pattern).match(text)
        if match is None or match.end() < len(text):
            continue
        secret = _secret(match)
        if rule in gitleaks_rules() and "secret" in match.re.groupindex and secret != text:
            name = re.match(r"[\w.-]+", text)
            text = f"{name and name[0]}{JOINTS[seed % len(JOINTS)]}{secret}"
        if not any(keyword in text.lower() for keyword in rule.keywords):
            text = f"{rule.keywords[0]} {text}"
        if len(secret) >= 3 and (not rule.digit or re.search(r"\d", secret)):
            found.append((text, secret))
        if len(found) == count:
            break
    return found


def _secret(match: re.Match[str]) -> str:
    named = match.groupdict()
    return named.get("secret") or named.get("quoted") or match.group()


@pytest.mark.parametrize("rule", KNOWN_SECRETS, ids=lambda rule: rule.name)
def test_what_a_rule_describes_is_masked_in_every_context(rule: Rule) -> None:
    found = samples(rule, 4)
    assert found
    for text, secret in found:
        for where, context in CONTEXTS.items():
            assert secret not in redact(context.format(text)), where
        quoted = json.dumps({"text": f"before\n{text}\nafter"})
        assert json.dumps(secret)[1:-1] not in redact(quoted)
        twice = json.dumps(quoted)
        assert json.dumps(json.dumps(secret)[1:-1])[1:-1] not in redact(twice)


@pytest.mark.parametrize("rule", KNOWN_SECRETS, ids=lambda rule: rule.name)
def test_a_secret_that_a_colour_splits_is_masked(rule: Rule) -> None:
    for (text, secret), colour in zip(samples(rule, 3), ["\x1b[1m", r"\u001b[38;5;1m", r"\033[0m"], strict=True):
        middle = text.index(secret) + len(secret) // 2
        masked = redact(f"{text[:middle]}{colour}{text[middle:]}")
        assert secret[: len(secret) // 2] not in masked
        assert secret[len(secret) // 2 :] not in masked


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc.def", "abc.def"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("x-auth-token: abcdef", "abcdef"),
        ("OPENAI_API_KEY=abc123 codex", "abc123"),
        ("client_secret: abc123", "abc123"),
        ("sk-proj-abcdefgh12", "abcdefgh12"),
        ("my token: abcd1234efgh", "abcd1234"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
        ('"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"', "wJalrXUtnFEMI"),
        ("AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
        ("xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx", "abcdefghijkl"),
        ("glpat-abcdefghij0123456789", "abcdefghij"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
        ("token=abcdef", "abcdef"),
        ('{"token": "abcdef"}', "abcdef"),
        ("git clone https://abcdef0123456789@git.example/x", "abcdef"),
        ("https://tokentokentokentoken:x-oauth-basic@git.example", "tokentoken"),
        ("redis://:p4ssw0rd@cache", "p4ssw0rd"),
        ("postgres://me:p@ss@db/x", "ss@"),
        ("Cookie: session=abcdef123; other=1", "abcdef123"),
        ("DefaultEndpointsProtocol=https;AccountKey=abcdefghijk==;x", "abcdefghijk"),
        ("https://blob.example/?sv=1&sig=abcdefg%3D", "abcdefg"),
        ("mysql --password hunter2", "hunter2"),
        ("curl -u me:hunter2 http://host", "hunter2"),
        ("PGPASSWORD=hunter2 psql", "hunter2"),
        ("DB_PASS=hunter2", "hunter2"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\n-----END RSA PRIVATE KEY-----", "MIIEpAIB"),
        (r"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNz"),
        ("export API_TOKEN=$'hunter2'", "hunter2"),
        ('DB_PASSWORD=$"hunter2"', "hunter2"),
        ("password = b'hunter2'", "hunter2"),
        ("postgres://me:pa/hunter2@db/x", "hunter2"),
        ("https://me:/hunter2/x@git.example/y", "hunter2"),
        ("amqp://me:12/hunter2@queue:5672/v", "hunter2"),
        ("SECRET_KEY_BASE=hunter2", "hunter2"),
        ("secret_key_base: hunter2", "hunter2"),
        ("API_KEY_2=hunter2", "hunter2"),
        ("DB_PASSWORD_OLD=hunter2", "hunter2"),
        ('{"auths": {"ghcr.io": {"auth": "dXNlcjpodW50ZXIy"}}}', "dXNlcjpodW50ZXIy"),
        ("auth: bWU6cHc=", "bWU6cHc"),
        ('"identitytoken": "hunter2"', "hunter2"),
        ("machine git.example login me password hunter2", "hunter2"),
        ("machine git.example\n  login me\n  password hunter2\n", "hunter2"),
        ("machine git.example password hunter2 login me", "hunter2"),
        ("default login me password hunter2", "hunter2"),
        ("//registry.example/:_auth=hunter2", "hunter2"),
        ("_auth = hunter2", "hunter2"),
        ("NPM_CONFIG__AUTH=hunter2", "hunter2"),
        ("Server=db;Uid=me;Pwd=hunter2;", "hunter2"),
        ("Uid=me; pwd=/hunter2", "hunter2"),
        ("PWD=hunter2", "hunter2"),
        ('"pwd": "hunter2"', "hunter2"),
        ("client-key-data: hunter2", "hunter2"),
        ("clientKeyData: hunter2", "hunter2"),
        ("sshpass -p hunter2 ssh host", "hunter2"),
        ("sshpass -phunter2 ssh host", "hunter2"),
        ("sshpass -v -p 'a hunter2' ssh host", "hunter2"),
        ('["sshpass", "-p", "hunter2", "ssh"]', "hunter2"),
        ("SSHPASS=hunter2 sshpass -e ssh host", "hunter2"),
        ("REDISPASS=hunter2", "hunter2"),
        ("docker login -u me -p hunter2 ghcr.io", "hunter2"),
        ("docker login ghcr.io --username=me -phunter2", "hunter2"),
        ("podman --log-level debug login -p 'hunter2' -u me", "hunter2"),
        ("helm registry login -u me -p hunter2 host", "hunter2"),
        ('["docker", "login", "-u", "me", "-p", "hunter2"]', "hunter2"),
        ("dckr_pat_abcdefghijklmnopqrstuvwxyz0", "abcdefghijk"),
        ("figd_abcdefghij-klmnopqrst_uvwxyz", "abcdefghij"),
        ("ATBBabcdefghijklmnopqrstuvwx01234567", "abcdefghijk"),
        ("ATATT3xFfGF0abcdefghijklmnopqrstuvwx=01234567", "abcdefghijk"),
        ("CCIPAT_AbCdEfGhIjKlMnOpQrSt_0123456789abcdef", "0123456789abcdef"),
        ("rt_abcdefghijklmnopqrstuvwxyz", "abcdefghijk"),
        ("rt_Ab-dEf_hIj.lMn0pQrStUvWx", "hIj.lMn"),
        (r"API_TOKEN='it'\''s hunter2'", "hunter2"),
        ("DB_PASSWORD=a\\ hunter2", "hunter2"),
        ("API_TOKEN+=hunter2", "hunter2"),
        ("GITHUB_PAT=hunter2", "hunter2"),
        ("setenv API_TOKEN hunter2", "hunter2"),
        ("set -gx DB_PASSWORD 'hunter2'", "hunter2"),
        ('setx OPENAI_API_KEY "hunter2"', "hunter2"),
        ("npm config set //registry.example/:_authToken hunter2", "hunter2"),
        ("aws configure set aws_secret_access_key hunter2", "hunter2"),
        ("mysqldump -u root -phunter2 db", "hunter2"),
        ("redis-cli -h host -a hunter2 ping", "hunter2"),
        ("os.environ['API_TOKEN'] = 'hunter2'", "hunter2"),
        ('SetEnvironmentVariable("API_TOKEN", "hunter2")', "hunter2"),
        ("putenv('DB_PASSWORD', 'hunter2')", "hunter2"),
        ("db_password: !vault hunter2", "hunter2"),
        ("<server><password>hunter2</password></server>", "hunter2"),
        ("<apiKey>hunter2</apiKey>", "hunter2"),
        ('<add key="DbPassword" value="hunter2"/>', "hunter2"),
        ("- name: API_TOKEN\n  value: hunter2", "hunter2"),
        ('{"name": "API_TOKEN", "value": "hunter2"}', "hunter2"),
        ("ENV API_TOKEN hunter2", "hunter2"),
        ("cargo login cioAbcdefghijklmnop", "cioAbcdefghijklmnop"),
        ("vault login hvb.abcdefghijklmnop", "abcdefghijklmnop"),
        ("az login --service-principal -u me -p hunter2 --tenant t", "hunter2"),
        ("openssl enc -aes256 -pass pass:hunter2 -in x", "hunter2"),
        ("cut: -----BEGIN PRIVATE KEY-----\nMIIEpAIB\nQAKCAQEA75n", "QAKCAQEA"),
    ],
)
def test_what_people_paste_is_masked(text: str, secret: str) -> None:
    for where, context in CONTEXTS.items():
        assert secret not in redact(context.format(text)), where
    quoted = json.dumps({"text": f"before\n{text}\nafter"})
    assert secret not in redact(quoted)
    assert secret not in redact(json.dumps(quoted))


def test_what_follows_a_private_key_is_still_there() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"
    assert redact(f"one {key} two {key} three") == f"one {MASK} two {MASK} three"


ORDINARY = (
    "unexpected token: identifier",
    "commit 4b1d2f0c9a8e7d6c5b4a39281706f5e4d3c2b1a0 of main",
    "ssh://git@github.com/org/repo.git",
    "git@github.com:org/repo.git",
    "a primary key: id, a cache key: users",
    "tokens: 1500, max_tokens=4096, token_count=5",
    "the secretary of state passes",
    "https://example.com/a/@scope/package?page=2#top",
    "dropbox, authentications and telegrams",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "-----BEGIN CERTIFICATE-----",
    "author: Jane Doe, authors = ['Jane'], authority=example.org",
    '"auth": "required", auth: chatgpt, basic_auth=True, "auth": "ApiKey", use_auth: false',
    "rt_mutex_lock_interruptible_nested, rt_sigprocmask, start_rt_2, rt_tgsigqueueinfo, rt_rq_v2_clock_update",
    "PWD=/home/me OLDPWD=/ pwd=$(pwd) PWD=~/x pwd: str",
    "BYPASS=1 bypass=all COMPASS=north PASS=5 FAIL=2",
    "docker run -p 8080:80 nginx; docker login -u me --password-stdin",
    "docker login ghcr.io && docker run -p 8080:80 nginx",
    "sshpass -e ssh -p 2222 host, sshpass -f file ssh -p 22 host",
    "http://localhost:4873/lodash@4.17.21 and https://cdn.example:443/npm/@vue/x@3",
    "http://[::1]:8080/a@b",
    "machine learning password reset; this login page password field",
    "secretName: my-tls, secret_version=3, secretKeyRef: x",
    "ATBBED FIGD_ figd_x dckr_pat_ CCIPAT_",
    "set the token to 3, set -e, mysql -u root -p db, redis-cli -a",
    """don't 'a'"'"'b' it\\'s""",
    "key data: x, client-certificate-data: LS0t",
    "<password></password> <token>${TOKEN}</token> <key>x</key>",
    '{"name": "color", "value": "red"}, {"key": "tokens", "value": 12}, name: user\nvalue: me',
    "cargo login --help, vault login -method=oidc, az login --use-device-code, 3 tests pass: 2 fail: 1",
    "ENV PATH /usr/bin, env KEY, d['token_count'] = 4, xs[key] = 1",
    "\x1b[31mred\x1b[0m",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


@given(st.randoms(use_true_random=False))
def test_hashes_ids_paths_and_base64_are_left_alone(source: random.Random) -> None:
    sizes = (7, 20, 32)
    texts = [source.randbytes(size).hex() for size in sizes]
    texts += [str(uuid.UUID(bytes=source.randbytes(16)))]
    texts += [base64.b64encode(source.randbytes(source.randint(3, 300))).decode()]
    texts += ["/" + "/".join(source.choices(["src", "lib", "codex_mcp", "README.md", "v1.2", "test_a"], k=6))]
    text = " ".join(texts)
    assert redact(text) == text
