"""What was let in by a token is closed when the token is revoked or expires."""

import asyncio
import time
from pathlib import Path

from codex_mcp.access.access_control import AccessControl
from codex_mcp.access.gate import Admitted
from codex_mcp.mcp.http.grants import Grants, TokenGrant
from tests.access.test_access_control import ONE, TWO, bearer, key_file, signed, signed_access, token_file
from tests.support.patience import PATIENCE
from tests.support.settings import make_settings


class Closed:
    def __init__(self) -> None:
        self.names: list[str] = []

    def of(self, name: str) -> "ClosedOne":
        return ClosedOne(self, name)


class ClosedOne:
    def __init__(self, closed: Closed, name: str) -> None:
        self._closed = closed
        self._name = name

    def __call__(self) -> None:
        self._closed.names.append(self._name)


def held(grants: Grants, access: AccessControl, token: str, close: ClosedOne) -> TokenGrant:
    headers = bearer(token)
    verdict = access.admit(headers)
    assert isinstance(verdict, Admitted)
    return grants.hold(headers, verdict, close)


async def test_a_revoked_token_closes_what_it_has_open_and_nothing_else(tmp_path: Path) -> None:
    access = AccessControl(make_settings(tokens=token_file(tmp_path, f"ada {ONE}\nbob {TWO}")).http, str(tmp_path))
    grants, closed = Grants(access), Closed()
    ada, bob = held(grants, access, ONE, closed.of("ada")), held(grants, access, TWO, closed.of("bob"))
    over = held(grants, access, TWO, closed.of("over"))
    grants.release(over)
    grants.check()
    assert closed.names == []
    token_file(tmp_path, f"ada {ONE}\neve {TWO}\n")
    access._checked_at = 0.0
    grants.check()
    grants.check()
    assert closed.names == ["bob"]
    assert (grants.still_holds(ada), grants.still_holds(bob), len(grants)) == (True, False, 1)


async def test_a_signed_token_closes_what_it_has_open_when_it_expires(tmp_path: Path) -> None:
    access = signed_access(tmp_path)
    grants, closed = Grants(access), Closed()
    lasting = held(grants, access, signed(), closed.of("lasting"))
    # It has expired, as far as clocks that may differ by 30 seconds can tell, in a second or two.
    held(grants, access, signed(exp=time.time() - 28), closed.of("short"))
    async with asyncio.timeout(PATIENCE):
        while not closed.names:
            await asyncio.sleep(0.05)
            grants.check()
    assert closed.names == ["short"]
    assert grants.still_holds(lasting)


async def test_a_key_that_is_removed_closes_what_was_signed_with_it(tmp_path: Path) -> None:
    access = signed_access(tmp_path)
    grants, closed = Grants(access), Closed()
    held(grants, access, signed(), closed.of("ada"))
    key_file(tmp_path, name="k2")
    access._checked_at = 0.0
    grants.check()
    assert closed.names == ["ada"]
