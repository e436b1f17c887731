"""The command line: `rating-worker COMMAND`.

Exit codes, the same for every command (`worker.cli.exits` is where they are made):

    0    done; for `run`: stopped in order
    1    what was asked for isn't there; or a bug in the worker, logged with its traceback
    2    the command line is wrong
    65   some of the input was refused, or the ledger contradicts its own rules; all the rest was done
    74   standard output can't be written: the disk is full, say
    75   Kafka or Postgres is away, or too slow: try again later
    78   somebody must mend something first: a setting, a policy, the database, a topic
    130  Ctrl-C
    141  whoever read the output has closed it, as `head` does

Results go to standard output, messages and progress to standard error.
"""

from worker.cli.app import app
from worker.cli.exits import writing
from worker.cli.output import prepare_streams

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the command line names; ends the process."""
    prepare_streams()
    with writing():  # help and the version are no command's
        app(prog_name="rating-worker")
