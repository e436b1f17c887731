"""`run`: the worker itself."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import os

import structlog

from worker import memory
from worker.cli.exits import service
from worker.cli.running import policies_of, run
from worker.cli.worker_faults import worker_faults
from worker.ops.logging import configure_logging
from worker.service import Worker
from worker.settings import LogFormat, Settings, load_settings, unknown_variables

_log = structlog.get_logger(__name__)


@service
def run_worker() -> None:
    """Run a worker until SIGTERM or Ctrl-C.

    It takes matches from Kafka, rates them into Postgres and publishes the changes. Start more of them to share the
    work. While a broker or the database is away it waits, not ready; `rating-worker check` says what is wrong.

    All that it says is in its log, on standard error: JSON lines, or readable ones on a terminal. The last one tells
    what ended it, with the exit code.

    The first SIGTERM or Ctrl-C lets it finish the batch in hand and leave the group; a second one ends it at once,
    which loses nothing either.
    """
    configure_logging(_format_asked_for())  # that of the settings, should they be wrong
    settings = load_settings()
    configure_logging(settings.log_format, settings.log_level, library_level=settings.library_log_level)
    for name, nearest in unknown_variables().items():
        _log.warning("a variable is no setting of this version and changes nothing", variable=name, nearest=nearest)
    run(_work(settings))


async def _work(settings: Settings) -> None:
    policies = policies_of(settings)
    with worker_faults():
        worker = Worker(settings, policies)
        worker.install_signals()
        # Here, where the process is the worker's: both are for all that runs in it.
        memory.keep_the_heap_whole()
        memory.spare_the_collector()
        await worker.run()


def _format_asked_for() -> LogFormat:
    try:
        return LogFormat(os.environ.get("RATING_LOG_FORMAT") or LogFormat.AUTO)
    except ValueError:
        return LogFormat.AUTO
