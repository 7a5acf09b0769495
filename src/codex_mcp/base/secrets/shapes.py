"""Pure. Our own rules for secrets: those that the log promises to mask in any form, and values with a telling name.

They require less than those of gitleaks: no exact length and no randomness. Names and values may be quoted, also
repeatedly as in JSON inside JSON.
"""

from __future__ import annotations

from typing import Final

from codex_mcp.base.secrets.rules import Rule

QUOTE: Final = r"\\{0,16}[\"']"
"""A quote, with the backslashes of JSON inside JSON."""

IS: Final = (
    rf"(?:{QUOTE})?\]?\s{{0,8}}(?:[:+]=|=>|[=:]|%3[ADad])\s{{0,8}}(?:!{{1,2}}[\w:/]{{1,64}}\s{{1,8}})?"
    r"(?:[|>][+-]?\d?[+-]?[ \t]{0,8}(?:\n|\\{1,16}n)(?:\s|\\{1,16}[nt]){1,32})?"
)
"""The text between a name and its value: also `environ['NAME'] = …`, and YAML with a kind (`NAME: !vault …`) or a text
of several lines."""

TAIL: Final = (
    r"(?:[_-]?(?:base(?:64)?|b64|data|hex|pem|old|new|prev(?:ious)?|current|next|primary|secondary|default"
    r"|prod(?:uction)?|staging|dev|test|v?\d{1,3}))?"
)
"""What a name may have behind the telling word, as in `SECRET_KEY_BASE` or `API_KEY_2`."""

VALUE: Final = (
    # Quoted, also as a shell writes it ($'…') or Python (b'…'): up to the same quote with as many backslashes, or to
    # the end of the line if the text was cut.
    rf"(?:(?:\\{{0,16}}[$@]|(?<=\s)[bBrRuUfF]{{1,2}})?(?:''(?=')|\"\"(?=\"))?"
    rf"(?P<quote>{QUOTE})(?P<quoted>(?:(?!(?<!\\)(?P=quote))[^\n])+)"
    r"|(?P<secret>(?:(?!\\[nrt\"'])[^\s\"',;&}\]]|(?<=\\) )+))"
)

KEY_KINDS: Final = (
    *("access", "account", "api", "app", "application", "auth", "client", "deploy", "encryption", "hmac", "license"),
    *("master", "private", "secret", "service", "session", "shared", "signing", "ssh", "storage", "subscription"),
)
"""Keys that give access. Others, such as a primary key or a cache key, do not."""

TOKEN_KINDS: Final = (
    *("access", "api", "auth", "bearer", "bot", "csrf", "id", "identity", "oauth", "refresh", "registry", "secret"),
    *("session", "user"),
)


def _after(*kinds: str) -> str:
    """Preceded by one of these, with or without a separator."""
    return "(?:" + "|".join(f"(?<={kind}{mark})" for kind in kinds for mark in ("", "_", "-")) + ")"


def _prefix(name: str, keywords: tuple[str, ...], pattern: str) -> Rule:
    return Rule(name, keywords, rf"<START>{pattern}")


VALUES: Final = (
    Rule(
        "named-secret",
        ("secret", "passw", "passphrase", "credential"),
        r"(?i:(?:secret(?:[_-]?(?:access[_-]?)?key|[_-]?(?:id|token|value))?|passw(?:or)?d|passphrase|credential)s?"
        rf"{TAIL}{IS}{VALUE})",
    ),
    Rule("named-password", ("_pass", "-pass", "_pw", "-pw"), rf"(?i:[_-](?:pass|pwd?){TAIL}{IS}{VALUE})"),
    Rule("variable-password", ("pass=",), rf"(?<=[A-Z0-9])(?<!BY)(?<!COM)PASS={VALUE}"),
    Rule("variable-access-token", ("_pat=",), rf"_PAT={VALUE}"),
    # PWD is also the working folder.
    Rule("connection-password", ("pwd",), rf"(?i:(?:(?<=;)|(?<=;\s))pwd\s{{0,8}}=\s{{0,8}}{VALUE})"),
    Rule(
        "pwd",
        ("pwd",),
        rf"(?i:<START>pwd(?:{QUOTE}\s{{0,8}}:|(?:{QUOTE})?\s{{0,8}}=)\s{{0,8}}"
        rf"(?!(?:{QUOTE})?(?:[/~$.%`<(=]|[a-z]:[\\/])){VALUE})",
    ),
    Rule("named-key", ("key",), rf"(?i:(?=keys?{TAIL}{IS}){_after(*KEY_KINDS)}keys?{TAIL}{IS}{VALUE})"),
    Rule(
        "named-token",
        ("token",),
        rf"(?i:(?=token{TAIL}{IS})(?:(?<=[_-])|{_after(*TOKEN_KINDS)})token{TAIL}{IS}{VALUE})",
    ),
    Rule("npm-auth", ("_auth",), rf"(?i:<START>_auth{IS}{VALUE})"),
    Rule(
        "auth",
        ("auth",),
        # Base64, as in Docker's configuration, and not the name of a method.
        rf"(?i:<START>auth{IS}(?:{QUOTE})?(?-i:(?=[\w+/=-]{{8}})(?=[a-z0-9+/_-]{{0,200}}[A-Z])"
        r"(?:(?=[A-Za-z+/_-]{0,200}[0-9=])"
        rf"|(?=(?:[A-Za-z+/]{{4}}){{2,50}}{QUOTE})(?=[A-Z+/]{{0,200}}[a-z]{{1,200}}[A-Z+/]{{1,200}}[a-z]{{1,200}}[A-Z])))"
        r"(?P<secret>[\w+/-]{6,}={0,2})(?![\w.(]))",
    ),
    # By itself, the word also appears in compiler errors ("unexpected token: name").
    Rule("token", ("token",), rf"(?i:<START>token(?:{QUOTE}\s{{0,8}}:|(?:{QUOTE})?\s{{0,8}}=)\s{{0,8}}{VALUE})"),
    Rule("token-text", ("token",), r"(?i:<START>token:\s{0,8}(?=[\w.~+/=-]{0,64}\d)(?P<secret>[\w.~+/=-]{8,}))"),
    Rule(
        "option",
        ("--",),
        r"(?i:--(?:[a-z]{1,16}-){0,3}(?:api-?key|access-?key|secret(?:-key)?|token|passw(?:or)?d|passphrase|credentials?)"
        rf"\s{{1,8}}(?:<<<\s{{0,8}})?{VALUE})",
    ),
    Rule(
        "option-user",
        ("-u", "--user"),
        r"(?<!\S)(?:-u\s{0,8}|--user[=\s]\s{0,8})\\{0,16}[\"']?[^\s:\"']{1,128}:(?P<secret>[^\s\"'\\]{3,})",
    ),
    Rule(
        "query",
        ("key=", "sig=", "signature=", "auth=", "code=", "pw=", "pass=", "jwt="),
        r"(?i:(?<=[?&;])(?:key|sig|signature|auth|code|pw|pass|jwt)=(?P<secret>[^\s&\"'#\\<>]{6,}))",
    ),
    Rule(
        "query-signature",
        ("-signature=", "-credential="),
        r"(?i:-(?:signature|credential)=(?P<secret>[^\s&\"'#\\<>,]{6,}))",
    ),
)
"""Values that are secret by their name."""

BLANK: Final = r"(?:\s|\\{1,16}[nrt]){1,16}"
WORD: Final = r"[^\s\"'\\,;&|]{1,256}"
NEXT: Final = rf"(?:{QUOTE})?[\s,]{{1,8}}(?:{QUOTE})?"
"""The text between two words of a command line, or between two strings of a JSON array."""

DASH_P: Final = rf"-p(?:=|(?:{QUOTE})?[\s,]{{1,8}})?{VALUE}"

NAME: Final = (
    r"(?=[^\s\"'=]{0,128}[_:./-])[^\s\"'=]{0,128}?(?:token|secret|passw(?:or)?d|passphrase|credentials?|auth|key)"
    rf"{TAIL}(?=[\s\"'\\,])"
)
"""Of a setting: a telling word with something else before it."""

TELLING: Final = (
    r"(?:token|secret|passw(?:or)?d|passphrase|credentials?"
    r"|(?:api|access|auth|private|secret|signing|encryption)[_-]?key)"
)

APART: Final = (
    Rule(
        "element",
        ("token>", "secret>", "passwd>", "password>", "passphrase>", "credential>", "credentials>", "key>"),
        rf"(?i:(?:token|secret|passw(?:or)?d|passphrase|credentials?|{_after(*KEY_KINDS)}key)>\s{{0,8}}"
        r"(?P<secret>[^\s<>{$][^<>\n]{0,1024})(?=</))",
    ),
    Rule(
        "name-and-value",
        ("name", "key"),
        rf"(?i:<START>(?:name|key)(?:{QUOTE})?\s{{0,8}}[:=]\s{{0,8}}(?:{QUOTE})?[\w.-]{{0,64}}?{TELLING}{TAIL}"
        rf"(?:{QUOTE})?(?:\\{{1,16}}[nrt]|[\s,]){{1,32}}(?:{QUOTE})?value{IS}{VALUE})",
    ),
)
"""Values that stand apart from their names: in XML, and in lists of variables."""

COMMANDS: Final = (
    Rule(
        "set-call",
        ("variable(", "setenv(", "putenv("),
        rf"(?i:(?:variable|setenv|putenv)\({QUOTE}{NAME}{NEXT}{VALUE})",
    ),
    Rule("env", ("env",), rf"<START>ENV(?i:{BLANK}{NAME}{BLANK}{VALUE})"),
    Rule(
        "login",
        ("cargo", "vault"),
        rf"(?:cargo|vault)(?:{NEXT}-{{1,2}}[\w=:/.-]{{1,256}}){{0,4}}{NEXT}login(?:{NEXT}--registry{NEXT}{WORD})?{NEXT}"
        r"(?P<secret>[\w.-]{16,})",
    ),
    Rule("az", ("az",), rf"<START>az{NEXT}login(?:{NEXT}{WORD}){{0,8}}?{NEXT}{DASH_P}"),
    Rule("openssl", ("pass:",), r"(?<=[\s\"',=])pass:(?P<secret>[^\s\"'\\,;]{4,})"),
    Rule("set", ("set",), rf"(?i:set(?:env|x)?(?:{NEXT}-[a-z]{{1,8}})?{NEXT}{NAME}{NEXT}{VALUE})"),
    Rule("mysql", ("mysql", "mariadb"), rf"(?:mysql|mariadb)[\w-]{{0,16}}(?:{NEXT}{WORD}){{0,8}}?{NEXT}-p{VALUE}"),
    Rule("redis-cli", ("redis-cli",), rf"redis-cli(?:{NEXT}{WORD}){{0,8}}?{NEXT}-a{NEXT}{VALUE}"),
    Rule("sshpass", ("sshpass",), rf"sshpass(?:{NEXT}-(?:v{{1,3}}|P\s{{0,8}}{WORD})){{0,4}}{NEXT}{DASH_P}"),
    Rule(
        "registry-login",
        ("docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane"),
        rf"(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane)(?:{NEXT}{WORD}){{0,4}}?{NEXT}login"
        rf"(?:{NEXT}{WORD}){{0,8}}?{NEXT}{DASH_P}",
    ),
    Rule(
        "netrc",
        ("machine", "default"),
        rf"<START>(?:machine{BLANK}{WORD}|default)(?:{BLANK}(?:login|account){BLANK}{WORD}){{1,2}}{BLANK}password{BLANK}{VALUE}",
    ),
    Rule(
        "netrc-machine", ("machine",), rf"<START>machine{BLANK}(?=[\w-]{{1,64}}\.){WORD}{BLANK}password{BLANK}{VALUE}"
    ),
)
"""Passwords in command lines and in the file that curl and git read."""

HEADERS: Final = (
    Rule(
        "bearer",
        ("bearer",),
        r"(?i:bearer(?:\s|%20|\\[nrt]|[:=\"'\\]){1,16}(?P<secret>[^\s\"'\\,;})\]>&][^\s\"'\\,;]*))",
    ),
    Rule(
        "authorization",
        ("authorization",),
        rf"(?i:authorization{IS}(?:{QUOTE})?(?!bearer\b)(?:[a-z][\w-]{{0,32}}\s{{1,8}})?(?P<secret>[^\s\"'\\,;]+))",
    ),
    Rule("cookie", ("cookie",), rf"(?i:cookie{IS}(?:{QUOTE})?(?P<secret>[\w.-]{{1,128}}=[^\r\n\"'\\]+))"),
)

ADDRESSES: Final = (
    Rule("url-password", ("://",), r"://[^/\s:@\"'\\]{0,256}:(?P<secret>[^/\s\"'\\]+)(?=@)"),
    # With a slash it could also be a port and a path.
    Rule(
        "url-password-slash",
        ("://",),
        r"://(?!\[)[^/\s:@\"'\\]{0,256}:(?!\d{1,5}[/?#])(?P<secret>[^\s\"'\\<>`]{1,256})(?=@[\w\[%])",
    ),
    Rule(
        "url-password-digits",
        ("://",),
        r"(?i:(?<!http)(?<!https)(?<!ws)(?<!wss)://(?!\[)[^/\s:@\"'\\]{0,256}:"
        r"(?P<secret>[^\s\"'\\<>`?#@]{1,256})(?=@[\w\[%]))",
    ),
    Rule("url-user", ("://",), r"(?i:(?:(?<=http)|(?<=https))://(?P<secret>[^/\s:@\"'\\?#]+)(?=@))"),
    Rule("url-long-user", ("://",), r"://(?P<secret>[^/\s:@\"'\\?#]{20,})(?=:[^/\s@\"'\\]{0,256}@|@)"),
    Rule("slack-webhook", ("hooks.slack.com/",), r"(?i:hooks\.slack\.com/[a-z]+/(?P<secret>[\w/+-]{8,}))"),
    Rule("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/(?P<secret>\d+/[\w-]{16,})"),
)
"""Credentials in a URL. A user without a password counts as a token in HTTP URLs."""

SK: Final = _prefix("sk", ("sk-",), r"sk-(?P<secret>[\w-]{8,})")
"""Keys of OpenAI, Anthropic and others."""

KNOWN: Final = (
    _prefix("jwt", ("eyj", "eya"), r"(?<![_-])ey[JA][\w-]{8,}\.[\w-]+(?:\.[\w-]*){0,3}"),
    _prefix("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_\w{16,}"),
    _prefix("github-fine-grained", ("github_pat_",), r"github_pat_\w{16,}"),
    _prefix("gitlab", ("gl",), r"gl(?:pat|dt|ptt|ft|rt|rtr|soat|imt|agent|cbt|ffct|oas|wt)-[\w.-]{16,}"),
    _prefix("slack", ("xox",), r"xox[a-z](?:\.xox[a-z])?-[\w-]{8,}"),
    _prefix("slack-app", ("xapp-",), r"xapp-[\w-]{8,}"),
    _prefix(
        "aws-id",
        ("a3t", "akia", "asia", "abia", "acca", "aroa", "aida", "agpa", "anpa", "anva", "apka", "aipa"),
        r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|ANPA|ANVA|APKA|AIPA)[A-Z0-9]{12,}<END>",
    ),
    Rule(
        "aws-secret",
        ("aws", "akia", "asia"),
        # Forty characters of base64 that are neither a hash nor a path.
        r"<START>(?<![/+=])(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])(?=[A-Za-z/+]{0,39}[0-9])"
        r"(?!(?:[A-Za-z0-9+]{0,39}/){3})(?![0-9A-Fa-f]{40})[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
        begins=False,
    ),
    _prefix("google", ("aiza",), r"AIza[\w-]{20,}"),
    _prefix("google-oauth", ("ya29.", "gocspx-", "1//0"), r"(?:ya29\.|GOCSPX-|1//0)[\w-]{16,}"),
    _prefix("stripe", ("sk_", "pk_", "rk_", "whsec_"), r"(?:[spr]k_(?:live|test|prod)|whsec)_\w{8,}"),
    _prefix("npm", ("npm_",), r"npm_[A-Za-z0-9]{20,}"),
    _prefix("package-index", ("pypi-",), r"pypi-[\w-]{32,}"),
    _prefix("hugging-face", ("hf_",), r"hf_[A-Za-z0-9]{20,}"),
    _prefix("models", ("gsk_", "r8_", "xai-", "pplx-"), r"(?:gsk_|r8_|xai-|pplx-)[A-Za-z0-9]{20,}"),
    _prefix("sendgrid", ("sg.",), r"SG\.[\w-]{8,}\.[\w-]{8,}"),
    _prefix("docker", ("dckr_",), r"dckr_[a-z]{3}_[\w-]{10,}"),
    _prefix("figma", ("figd_", "figo_", "figr_", "figu_"), r"fig[doru]_[\w-]{16,}"),
    _prefix("atlassian", ("atbb", "atatt", "atctt"), r"AT(?:BB|ATT|CTT)[\w=-]{20,}"),
    _prefix("circle-ci", ("ccipat_", "cciprj_"), r"CCIP(?:AT|RJ)_[\w-]{16,}"),
    _prefix(
        "openai-refresh",
        ("rt_",),
        # Names such as rt_mutex_lock consist of short words in lower case.
        r"(?<![_-])rt_(?:[A-Za-z0-9]{20}|(?=[\w.-]{0,64}\d)(?=[\w.-]{0,64}[A-Z])(?=[\w.-]{0,64}[a-z])[\w.-]{16})[\w.-]*",
    ),
    _prefix("digital-ocean", ("do",), r"do[opr]_v1_[a-f0-9]{16,}"),
    Rule("telegram-bot", (":aa",), r"<START>\d{6,12}:AA[\w-]{30,}", begins=False),
    Rule("discord-bot", (".",), r"<START>[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])", begins=False),
)
"""Tokens with a known prefix."""

NAMED: Final = (*HEADERS, *VALUES, *APART, *COMMANDS, *ADDRESSES, SK)
"""Rules that also apply to short words."""
