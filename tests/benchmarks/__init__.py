"""How fast the worker is, beside what the same rows and records cost with nothing of ours: `make bench`."""
