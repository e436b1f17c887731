"""An async, queue-driven Elo rating worker."""

__version__ = "0.1.0"
