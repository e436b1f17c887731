"""Checks of what is deployed that need more than Python: `make check-deploy` installs it and runs them.

The tests of this folder are no part of `make test`. What plain Python can check is in `tests/deploy`.
"""
