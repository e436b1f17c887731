"""The worker as `rating-worker run` starts it, under cProfile; BENCH_PROFILE names the file to write.

Each call costs more under it, so shares lean towards code of many small calls; for figures, run without.
"""

from __future__ import annotations

import cProfile
import os

from worker.cli.serve import run_worker

if __name__ == "__main__":
    profiler = cProfile.Profile()
    try:
        profiler.runcall(run_worker)
    finally:
        profiler.dump_stats(os.environ["BENCH_PROFILE"])
