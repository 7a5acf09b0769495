"""Addresses of databases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.state.postgres.address import problem_with, shown


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me@127.0.0.1:5432/team",
        "postgres://localhost/team",
        "postgresql://me@[::1]/team",
        "postgresql:///team?host=/var/run/postgresql",
        "postgresql://me:word@db.example/team?sslmode=verify-full",
        "postgresql://db-1.example:5432,db-2.example:5433/team?sslmode=require",
    ],
)
def test_what_stays_here_or_is_encrypted_can_be_used(dsn: str) -> None:
    assert problem_with(dsn) is None


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:word@db.example/team",
        "postgresql://db.example/team?sslmode=prefer",
        "postgresql://localhost,db.example/team",
        "postgresql:///team?host=db.example",
        "postgresql://localhost/team?host=/run,db.example",
    ],
)
def test_a_password_never_crosses_a_network_in_clear(dsn: str) -> None:
    assert "must be encrypted" in str(problem_with(dsn))


@pytest.mark.parametrize("dsn", ["postgresql:///team", "postgresql://me@/team", "postgresql://localhost/x?service=y"])
def test_no_variable_and_no_file_chooses_the_host(dsn: str) -> None:
    assert "name the host in" in str(problem_with(dsn))


@pytest.mark.parametrize("dsn", ["mysql://localhost/x", "team.db", "", "postgresql://[::1/x", "postgresql://h/x?a"])
def test_anything_else_is_no_address(dsn: str) -> None:
    assert "it must" in str(problem_with(dsn))


@given(st.text(), st.sampled_from(["@", ":", "/", "?"]))
def test_every_text_is_judged_and_shown(text: str, mark: str) -> None:
    for dsn in (text, f"postgresql://{text}", f"postgresql://me:{text}{mark}localhost/team"):
        problem_with(dsn)
        shown(dsn)


def test_a_password_is_not_shown() -> None:
    assert shown("postgresql://me:pass@word@db.example:5432/team?password=word") == "postgresql://db.example:5432/team"
