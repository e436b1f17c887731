"""Making named tuples at the price of tuples."""

from __future__ import annotations

new = tuple.__new__
"""`new(Origin, (topic, partition, offset))`: a named tuple's own `__new__` is Python and takes twice the time.

For what is made once a match or more often; the fields come by place, and nobody counts them.
"""
