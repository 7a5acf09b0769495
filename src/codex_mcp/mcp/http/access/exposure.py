"""Pure. Who else on this machine could use a server without tokens, and what its user is told about that."""

from __future__ import annotations

from typing import Final

PEOPLE: Final = range(1000, 60_000)
"""User ids of accounts for people, as Linux distributions give them."""

NO_LOGIN: Final = ("nologin", "false", "sync", "shutdown", "halt")

ADVICE: Final = "require a token with --generate-token or --tokens FILE"


def people(passwd: str) -> dict[int, str]:
    """The accounts of people who can log in, by the text of /etc/passwd: user id to name."""
    found: dict[int, str] = {}
    for line in passwd.splitlines():
        fields = line.split(":")
        if len(fields) == 7 and fields[2].isdigit() and int(fields[2]) in PEOPLE and not fields[6].endswith(NO_LOGIN):
            found[int(fields[2])] = fields[0]
    return found


def warning_for(uid: int, passwd: str) -> str:
    """What to warn of, if a server of this user needs no token; empty if nobody else is here."""
    if uid == 0:
        return (
            "this server runs as root and needs no token: every user and program of this machine can run commands as "
            f"root through it; {ADVICE}"
        )
    others = sorted(name for user, name in people(passwd).items() if user != uid)
    if not others:
        return ""
    return (
        f"this server needs no token: other users of this machine ({', '.join(others[:3])}"
        f"{', …' if len(others) > 3 else ''}) can run commands as you through it; {ADVICE}"
    )
