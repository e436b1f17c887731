"""Verifying a database: what its tables say of each other, and whether the rules give what they say.

`verify` reads a live database as of one moment and changes nothing. There are two kinds of checks: counting and adding,
which knows nothing of the rules; and rebuilding, which rates all that is recorded again by the very core and compares.
"""

from worker.verify.report import Check, Finding, Name, Report
from worker.verify.verifier import NoSuchPoolError, Progress, verify

__all__ = ["Check", "Finding", "Name", "NoSuchPoolError", "Progress", "Report", "verify"]
