"""`run`: the worker itself."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

from worker.cli.exits import command
from worker.cli.running import policies_of, run
from worker.cli.session import worker_faults
from worker.ops.logging import configure_logging
from worker.service import Worker
from worker.settings import Settings, load_settings


@command
def run_worker() -> None:
    """Run a worker until SIGTERM or Ctrl-C.

    It takes matches from Kafka, rates them into Postgres and publishes the changes. Start more of them to share the
    work. While a broker or the database is away it waits, not ready; `rating-worker check` says what is wrong.

    The first SIGTERM or Ctrl-C lets it finish the batch in hand and leave the group; a second one ends it at once,
    which loses nothing either.
    """
    settings = load_settings()
    configure_logging(settings.log_format, settings.log_level, library_level=settings.library_log_level)
    run(_work(settings))


async def _work(settings: Settings) -> None:
    worker = Worker(settings, policies_of(settings))
    worker.install_signals()
    with worker_faults():
        await worker.run()
