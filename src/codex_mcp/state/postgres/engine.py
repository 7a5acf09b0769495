"""The database of a cluster: its connections, its tables, and in words what is wrong with it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, TypeVar

from codex_mcp.base.errors import Refused
from codex_mcp.state.contract import Unavailable
from codex_mcp.state.postgres import schema
from codex_mcp.state.postgres.address import names_schema, problem_with, shown
from codex_mcp.state.postgres.silence import LONG, Silence

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import asyncpg

T = TypeVar("T")

MOST_CONNECTIONS: Final = 6
"""For statements, beside the one that renews the lease. A connection costs the database about 1 MiB."""

CONNECT_TIMEOUT: Final = 2.0
"""Seconds. Until then a caller may wait who could be told to try again."""

STATEMENT_TIMEOUT: Final = 5.0
"""Seconds for a statement with its commit: a disk that needs this long is broken."""

RENEWAL_TIMEOUT: Final = 2.0
"""Seconds for a renewal, which does not wait for the disk. A server that has to try again must do so soon."""

OLDEST_SERVER: Final = 14

MIGRATION_LOCK: Final = 0x636F646578
"""Of pg_advisory_lock: one server at a time makes the tables."""


class Engine:
    """Runs jobs on connections. Every failure of the database is `Unavailable`: what was written then is unknown."""

    def __init__(self, dsn: str, secret: str | None = None) -> None:
        """`secret`: see `state/opening`."""
        self._dsn = dsn
        self._secret = secret
        self._name = shown(dsn)
        self._place: dict[str, str] = {}
        self._pool: asyncpg.Pool | None = None
        self._lease: asyncpg.Connection | None = None
        self._renewing = asyncio.Lock()
        self._is_silent = False
        """It has not answered in time. Until a renewal succeeds, nobody else waits for it."""
        self._silence = Silence(self._answers)
        self._closed = False

    async def open(self, *, migrates: bool = True) -> tuple[str, int]:
        """Connect and make the tables: which server it is, and the version of the tables.

        Without `migrates` nothing is changed, and tables may be older than ours, or missing (0). Raises Refused with
        what to do, or Unavailable; then nothing is left open.
        """
        if (problem := problem_with(self._dsn)) is not None:
            raise self._refused(problem.problem, problem.fix)
        self._place = {} if names_schema(self._dsn) else {"search_path": schema.SCHEMA}
        try:
            import asyncpg  # noqa: PLC0415  an extra, and 27 ms
        except ModuleNotFoundError:
            raise self._refused("the package asyncpg is missing", "install codex-mcp[postgres]") from None

        self._pool = asyncpg.create_pool(
            self._dsn,
            min_size=0,
            max_size=MOST_CONNECTIONS,
            timeout=CONNECT_TIMEOUT,
            command_timeout=STATEMENT_TIMEOUT,
            server_settings=self._place,
            reset=_check_clean,
        )
        try:
            await self._pool
            async with self._explained(), self._pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
                server = await self._check(connection)
                if migrates:
                    await self._migrate(connection)
                    await self._compare_secret(connection)
                return server, await self._version(connection)
        except BaseException:
            await self.aclose()
            raise

    async def run(self, job: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """What the job returns. Each of its statements is a transaction."""
        if self._is_silent and self._lease is not None:
            raise self._does_not_answer()
        pool = self._opened()
        async with (
            self._explained(),
            self._silence.ended() as waiting,
            pool.acquire(timeout=CONNECT_TIMEOUT) as connection,
        ):
            waiting.has(connection)
            return await job(connection)

    async def write(self, job: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """What the job returns, after all that it wrote is stored. If it raises, nothing is written."""

        async def together(connection: asyncpg.Connection) -> T:
            async with connection.transaction():
                return await job(connection)

        return await self.run(together)

    async def look(self, job: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """What the job returns, which reads the state of one moment and writes nothing."""

        async def still(connection: asyncpg.Connection) -> T:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await job(connection)

        return await self.run(still)

    async def renew(self, job: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """What the job returns, on a connection of its own that does not wait for the disk.

        A lease must not end because the disk is slow. What is lost when the database fails is less than a beat.
        """
        import asyncpg  # noqa: PLC0415  see above

        async with self._explained(), self._renewing:
            self._opened()
            if self._lease is None or self._lease.is_closed():
                self._lease = await asyncpg.connect(
                    self._dsn,
                    timeout=CONNECT_TIMEOUT,
                    command_timeout=RENEWAL_TIMEOUT,
                    server_settings={"synchronous_commit": "off", **self._place},
                )
            try:
                found = await job(self._lease)
                self._is_silent = False
                return found
            except (TimeoutError, OSError, asyncio.CancelledError):  # it may be half-open: the next one is new
                self._lease.terminate()
                raise

    async def _answers(self) -> bool:
        """Whether it answers at once what does not wait for the disk. Before the first renewal that is not known."""
        try:
            async with asyncio.timeout(LONG):
                return self._lease is None or await self.renew(lambda one: one.fetchval("SELECT true"))
        except (TimeoutError, Unavailable):
            self._is_silent = True
            return False

    async def aclose(self) -> None:
        """Close all connections, at once if the database does not answer. Calling it again is fine."""
        if self._closed:
            return
        self._closed = True
        await self._silence.aclose()
        if self._lease is not None:
            self._lease.terminate()
        if self._pool is not None:
            try:
                await asyncio.wait_for(self._pool.close(), CONNECT_TIMEOUT)
            except (TimeoutError, OSError):
                self._pool.terminate()

    def _opened(self) -> asyncpg.Pool:
        if self._closed or self._pool is None:
            raise Unavailable("The state cannot be used: its store is closed, since the server is ending.")
        return self._pool

    @contextlib.asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        import asyncpg  # noqa: PLC0415  see above

        try:
            yield
        except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError) as error:
            raise self._refused(str(error), "correct the address in --state") from error
        except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidSchemaNameError) as error:
            fix = "give its role the right to create and use tables there"
            raise self._refused(str(error), fix) from error
        except asyncpg.ReadOnlySQLTransactionError as error:
            raise Unavailable(
                f"The state {self._name} cannot be written: it is a read-only replica. Name the primary in --state, or "
                "wait until this one has been promoted."
            ) from error
        except TimeoutError as error:
            self._is_silent = True
            raise self._does_not_answer() from error
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise Unavailable(f"The state {self._name} cannot be used now: {error}. Try again in a moment.") from error

    async def _check(self, connection: asyncpg.Connection) -> str:
        """What it is. Raises Refused if it cannot be used."""
        version = connection.get_server_version()
        if version.major < OLDEST_SERVER:
            raise self._refused(f"it is PostgreSQL {version.major}", f"use PostgreSQL {OLDEST_SERVER} or newer")
        if await connection.fetchval("SELECT pg_is_in_recovery()"):
            raise self._refused("it is a read-only replica", "name the primary in --state")
        return f"PostgreSQL {version.major}.{version.micro}"  # since 10 there is no third number

    async def _version(self, connection: asyncpg.Connection) -> int:
        """That of its tables; 0 if there are none. Raises Refused if we cannot use them."""
        if await connection.fetchval("SELECT to_regclass('meta') IS NULL"):
            return 0
        row = await connection.fetchrow("SELECT version, oldest FROM meta")
        version, oldest = (0, 0) if row is None else row
        if oldest > schema.VERSION:
            why = f"a newer codex-mcp has changed it (schema {version}, this one knows {schema.VERSION})"
            raise self._refused(why, "run `codex-mcp update` here as well")
        if version and (names := await connection.fetchval(schema.WITHOUT_RIGHTS, schema.TABLES)):
            raise self._refused(f"its role may not read and write its tables ({names})", "grant it that right")
        return int(version)

    async def _migrate(self, connection: asyncpg.Connection) -> None:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK)
            if self._place and await connection.fetchval("SELECT to_regnamespace($1) IS NULL", schema.SCHEMA):
                await connection.execute(f"CREATE SCHEMA {schema.SCHEMA}")
            version = await self._version(connection)
            if version == 0:
                await connection.execute(schema.META)
                await connection.execute("INSERT INTO meta VALUES (0, 0, NULL)")
            for statement in schema.steps_from(version):
                await connection.execute(statement)
            if version < schema.VERSION:
                await connection.execute("UPDATE meta SET version = $1, oldest = $2", schema.VERSION, schema.OLDEST)

    async def _compare_secret(self, connection: asyncpg.Connection) -> None:
        """The first server with a secret tells it. Raises Refused."""
        if self._secret is not None:
            await connection.execute("UPDATE meta SET secret = $1 WHERE secret IS NULL", self._secret)
            if await connection.fetchval("SELECT secret FROM meta") != self._secret:
                fix = "copy the secret of the others to cluster_secret, or stop them and set meta.secret to NULL"
                raise self._refused("its servers have another cluster secret", fix)

    def _does_not_answer(self) -> Unavailable:
        return Unavailable(f"The state {self._name} does not answer. Try again in a moment.")

    def _refused(self, why: str, fix: str) -> Refused:
        return Refused(f"cannot use the state {self._name}: {why}", fix)


async def _check_clean(_: asyncpg.Connection) -> None:
    """Before it is used again: asyncpg has ended its transaction, and nothing else of ours outlives a statement."""
