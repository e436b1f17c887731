"""Is Postgres there, may we in, is it migrated, may we write, and does it know our policies as we do?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import asyncpg

from worker.cli.finding import Finding
from worker.cli.reaching import AWAY, described
from worker.ledger import reads
from worker.ledger.connecting import checks
from worker.ledger.errors import LedgerSetupError
from worker.ledger.ledger import check_schema, open_pool
from worker.ledger.rights import missing_rights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncpg.pool import PoolConnectionProxy

    from worker.rating.model import PolicyRef
    from worker.rating.policy_set import PolicySet
    from worker.settings import Settings

_SERVER, _SCHEMA, _RIGHTS, _POLICIES = "Postgres", "schema", "rights", "policies in the ledger"


async def check_postgres(settings: Settings, policies: PolicySet | None) -> list[Finding]:
    """Look at the database.

    Args:
        settings: Say where it is.
        policies: This worker's; None where they can't be used.
    """
    try:
        pool = await open_pool(settings)
    except LedgerSetupError as error:
        return _without_server(f"{settings.database_url}: {error}", "as it says")
    except AWAY as error:
        return _without_server(
            f"{settings.database_url} can't be reached: {described(error)}",
            "start it, or mend host and port in RATING_DATABASE_URL",
        )
    try:
        async with pool.acquire(timeout=settings.database_acquire_timeout_s) as connection:
            version = await connection.fetchval("select current_setting('server_version')")
            tls = await connection.fetchval("select version from pg_stat_ssl where pid = pg_backend_pid()")
            safety = f"encrypted by {tls}, {checks(settings)}" if tls else "not encrypted"
            found = [Finding.ok(_SERVER, f"{settings.database_url}, version {version}, {safety}")]
            return [*found, *await _tables(connection, policies)]
    except AWAY as error:
        return _without_server(f"{settings.database_url} fails: {described(error)}", "look into the log of Postgres")
    finally:
        pool.terminate()  # nothing is open that could be lost


async def _tables(connection: PoolConnectionProxy[Any], policies: PolicySet | None) -> list[Finding]:
    try:
        await check_schema(connection)
    except LedgerSetupError as error:
        return [
            Finding.wrong(_SCHEMA, str(error), "run `rating-worker migrate`"),
            *_unknown((_RIGHTS, _POLICIES), "there is no schema to look at"),
        ]
    except asyncpg.InsufficientPrivilegeError as error:
        mend = "grant this role the right to use the tables, or use the role that migrated"
        return [Finding.wrong(_RIGHTS, described(error), mend), *_unknown((_SCHEMA, _POLICIES), "reading is refused")]
    found = [Finding.ok(_SCHEMA, "is what this worker needs")]
    if lacking := await missing_rights(connection):
        mend = "run `rating-worker migrate --grant-worker ROLE` as the owner of the tables, with the name of this role"
        found.append(Finding.wrong(_RIGHTS, f"the role may not {', '.join(lacking)}", mend))
    else:
        found.append(Finding.ok(_RIGHTS, "the role may do what the worker does"))
    if any(right.startswith("select on policies") for right in lacking):
        return [*found, Finding.unknown(_POLICIES, "reading them is refused")]
    if policies is None:
        return [*found, Finding.unknown(_POLICIES, "the policies of this worker come first")]
    return [*found, *_policies(await reads.policies(connection), policies)]


def _policies(known: list[PolicyRef], policies: PolicySet) -> Iterator[Finding]:
    """Compare the policy versions that the ledger knows with those of this worker."""
    digests = {(ref.name, ref.version): ref.digest for ref in known}
    changed = [one for one in policies.policies if digests.get((one.name, one.version), one.digest) != one.digest]
    for one in changed:
        yield Finding.wrong(
            _POLICIES,
            f"{one.name} version {one.version} has digest {one.digest} here and {digests[one.name, one.version]} there",
            f"put the old content back, or give the new one version {one.version + 1} with a date and a reason",
        )
    if not changed:
        new = sum((one.name, one.version) not in digests for one in policies.policies)
        yield Finding.ok(_POLICIES, f"{len(known)} known, {new} new: none was changed")


def _without_server(detail: str, mend: str) -> list[Finding]:
    rest = _unknown((_SCHEMA, _RIGHTS, _POLICIES), "Postgres comes first")
    return [Finding.wrong(_SERVER, detail, mend), *rest]


def _unknown(names: tuple[str, ...], why: str) -> list[Finding]:
    return [Finding.unknown(name, why) for name in names]
