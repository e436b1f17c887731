"""`python -m deploy.local`: the local stack for a command, or in the foreground."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

from deploy.local import Stack, StackError, jars
from deploy.local.kafka import archive_classes

_INTERRUPTED = 130
_NOT_FOUND = 127
_WATCH_SECONDS = 1.0


def main(arguments: list[str] | None = None) -> int:
    """Run one of the commands; its exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.action == "fetch":
            archive_classes(_say)
            _say("all that the local stack needs is there, and as it should be")
        elif options.action == "lock":
            jars.write_lock(_say)
        elif options.action == "run":
            return _run(options.command, _stack(options))
        else:
            _up(_stack(options))
    except StackError as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description="PostgreSQL and Kafka out of packages.")
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run", help="start both, run a command with their addresses in its environment, stop both")
    run.add_argument("command", nargs="+", metavar="COMMAND", help="the command and its arguments, after --")
    up = actions.add_parser("up", help="start both and print their addresses; Ctrl-C stops them")
    for action in (run, up):
        action.add_argument("--data", type=Path, help="keep the data in this folder (default: a temporary one)")
        action.add_argument("--large", action="store_true", help="servers for a load (see Stack.large), not for tests")
    actions.add_parser("fetch", help="download what is missing, check it, and prepare for faster starts")
    actions.add_parser("lock", help="resolve Kafka's jars anew and write kafka.lock")
    return parser


def _stack(options: argparse.Namespace) -> Stack:
    return Stack.large(options.data) if options.large else Stack(data=options.data)


def _run(command: list[str], stack: Stack) -> int:
    jars.fetch(_say)
    with stack:
        try:
            child = subprocess.Popen(command, env=os.environ | stack.environment)  # noqa: S603 - the user's own command
        except OSError as error:
            _say(f"{command[0]}: {error.strerror}")
            return _NOT_FOUND
        # Ctrl-C reaches the child by itself, since it's in our terminal; the rest we pass on. Its end is what counts.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, _: child.send_signal(number))
        code = child.wait()
    return code if code >= 0 else 128 - code


def _up(stack: Stack) -> None:
    asked_to_end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked_to_end.set())
    jars.fetch(_say)
    with stack:
        for name, value in stack.environment.items():
            print(f"export {name}={shlex.quote(value)}", flush=True)  # noqa: T201 - this is what the command is for
        _say("up; Ctrl-C stops it")
        while not asked_to_end.wait(_WATCH_SECONDS):
            for server in (stack.postgres, stack.kafka):
                if not server.running:
                    raise StackError(f"{server.name} ended by itself; its log ends:\n{server.log_tail()}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a command's words to its user


if __name__ == "__main__":
    sys.exit(main())
