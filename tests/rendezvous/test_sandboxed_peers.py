"""A real rendezvous and processes of this machine that ask it, sandboxed or not."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.support.rendezvous import TOKENS, RunningRendezvous

SANDBOXED = ("setpriv", "--no-new-privs", "unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
ASK = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
connection.request("GET", "/environments", headers={"authorization": "Bearer " + sys.argv[2]})
answer = connection.getresponse()
print(answer.status, answer.read().decode())
"""


@pytest.mark.parametrize(("wrapped", "status"), [((), "200"), (SANDBOXED, "403")])
async def test_a_sandboxed_command_of_this_machine_is_refused_even_with_a_token(
    tmp_path: Path, wrapped: tuple[str, ...], status: str
) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        argv = [*wrapped, sys.executable, "-c", ASK, str(rendezvous.port), next(iter(TOKENS.values()))]
        asking = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
        said, _ = await asking.communicate()
        assert said.decode().split()[0] == status, said
        assert (b"sandbox or container" in said) is (status == "403")
