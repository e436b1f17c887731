"""Whether the ratings are sane: K, weight and size of changes, and whether favourites score what they should.

Calibration is kept of favourites alone, the sides that were expected to score more than a half: the other side of each
match says the same, mirrored, and even matches say nothing.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from prometheus_client import Counter

from worker.ops.histogram import BulkHistogram

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prometheus_client import CollectorRegistry

    from worker.rating.model import Change

_K_BOUNDS = (10, 16, 20, 24, 32, 40, 50, 64, 80, 128)
_WEIGHT_BOUNDS = (0, 0.1, 0.125, 0.25, 0.5, 0.75, 0.99, 1, 1.25, 1.5, 2)
_DELTA_BOUNDS = (0, 1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 64)
_EVEN = 0.5
_BUCKETS = 10  # from even to certain
_MOST_CALIBRATED = 400  # changes of a batch and policy: what a small batch has, and the cost of a large one bounded


class RatingHealth:
    """The metrics of what ratings do, by policy."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._k = BulkHistogram(
            "rating_k_points", "K of rated changes, in rating points.", _K_BOUNDS, label="policy", registry=registry
        )
        self._weight = BulkHistogram(
            "rating_weight_ratio",
            "Weight of rated changes: the product of their factors (repeat-pair decay, match type), 1 if none applies.",
            _WEIGHT_BOUNDS,
            label="policy",
            registry=registry,
        )
        self._delta = BulkHistogram(
            "rating_delta_points",
            "Size of rating changes without their sign, in rating points.",
            _DELTA_BOUNDS,
            label="policy",
            registry=registry,
        )
        self._calibration = Calibration(registry)

    def note(self, changes: Iterable[Change]) -> None:
        """Note a batch's rating changes; those without a K (a restart) don't count."""
        by_policy: defaultdict[str, list[Change]] = defaultdict(list)
        for change in changes:
            if change.k is not None:
                by_policy[change.policy.name].append(change)
        for policy, its in by_policy.items():
            self._k.series(policy).observe_many([change.k for change in its])  # type: ignore[misc]  # see above
            self._weight.series(policy).observe_many([change.weight for change in its])
            self._delta.series(policy).observe_many([abs(change.delta) for change in its])
            self._calibration.note(policy, its[:_MOST_CALIBRATED])


class Calibration:
    """What favourites were expected to score and what they scored, by how much they were expected to."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("policy", "expected")
        self._sides = Counter(
            "rating_calibration_sides",
            "Favourites of rated matches that calibration looked at, by the score that was expected of them.",
            labels,
            registry=registry,
        )
        self._expected = Counter(
            "rating_calibration_expected_score",
            "Score that these favourites were expected to make together: a win is 1, a draw a half.",
            labels,
            registry=registry,
        )
        self._actual = Counter(
            "rating_calibration_actual_score", "Score that these favourites made.", labels, registry=registry
        )
        self._series: dict[str, list[tuple[Counter, Counter, Counter]]] = {}

    def note(self, policy: str, changes: Sequence[Change]) -> None:
        """Note changes of one policy; those of a side that was no favourite don't count."""
        sides, expected, actual = [0] * _BUCKETS, [0.0] * _BUCKETS, [0.0] * _BUCKETS
        for change in changes:
            if change.expected is not None and change.score is not None and change.expected > _EVEN:
                bucket = min(int((change.expected - _EVEN) * 2 * _BUCKETS), _BUCKETS - 1)
                sides[bucket] += 1
                expected[bucket] += change.expected
                actual[bucket] += change.score
        series = self._series.get(policy) or self._make(policy)
        for bucket, count in enumerate(sides):
            if count:
                counts, expectations, scores = series[bucket]
                counts.inc(count)
                expectations.inc(expected[bucket])
                scores.inc(actual[bucket])

    def _make(self, policy: str) -> list[tuple[Counter, Counter, Counter]]:
        width = _EVEN / _BUCKETS
        names = [f"{_EVEN + place * width:.2f}-{_EVEN + (place + 1) * width:.2f}" for place in range(_BUCKETS)]
        made = [
            (self._sides.labels(policy, name), self._expected.labels(policy, name), self._actual.labels(policy, name))
            for name in names
        ]
        self._series[policy] = made
        return made
