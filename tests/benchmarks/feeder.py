"""Sends records at a steady rate, on a schedule: `python -m tests.benchmarks.feeder RATE BOOTSTRAP TOPIC`.

A process of its own, so that neither the reader nor the harness makes it late. The records come in pickled on standard
input; it says `sent` when the last is acknowledged, with the monotonic time at which each was handed over. The same
time is in each record's header `sent-at-ns`, and the record's timestamp is the wall clock's.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from typing import TYPE_CHECKING

from tests.benchmarks.broker import plain_producer

if TYPE_CHECKING:
    from tests.benchmarks.stream import Record


def feed(rate: float, bootstrap: str, topic: str, records: list[Record]) -> list[int]:
    """Send the records at so many a second; gives when each was sent, in ns of the monotonic clock."""
    producer = plain_producer(bootstrap)
    producer.list_topics(topic)  # connected before the schedule starts
    step = 1e9 / rate
    started = time.monotonic_ns()
    sent = []
    for number, record in enumerate(records):
        due = started + int(number * step)
        while (wait := due - time.monotonic_ns()) > 0:
            producer.poll(0)
            time.sleep(wait / 1e9)
        now = time.monotonic_ns()
        producer.produce(topic, record.value, record.key, headers=[("sent-at-ns", str(now).encode())])
        sent.append(now)
    producer.flush()
    return sent


if __name__ == "__main__":
    times = feed(float(sys.argv[1]), sys.argv[2], sys.argv[3], pickle.load(sys.stdin.buffer))  # noqa: S301 - the harness
    sys.stdout.write(json.dumps(times))
