"""`python -m worker`: the same as `rating-worker`."""

from worker.cli import main

main()
