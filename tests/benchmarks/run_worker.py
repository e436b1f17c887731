"""The worker as `rating-worker run` starts it, under a profiler where BENCH_PROFILE names a file to write."""

from __future__ import annotations

import cProfile
import os

from worker.cli.serve import run_worker

if __name__ == "__main__":
    profile = os.environ.get("BENCH_PROFILE")
    if profile is None:
        run_worker()
    else:
        profiler = cProfile.Profile()
        try:
            profiler.runcall(run_worker)
        finally:
            profiler.dump_stats(profile)
