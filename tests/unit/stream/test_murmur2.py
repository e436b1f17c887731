"""The partition of a key is the one that other Kafka clients find."""

from __future__ import annotations

from aiokafka import partitioner
from hypothesis import given
from hypothesis import strategies as st

from worker.stream.murmur2 import murmur2, partition_of


@given(st.binary(max_size=600), st.integers(1, 1_000))
def test_as_aiokafka_finds_it(key: bytes, count: int) -> None:
    """Its own implementation, which is checked against Java's, gives the same."""
    partitions = list(range(count))
    assert murmur2(key) == partitioner.murmur2(key)
    assert partition_of(key, count) == partitioner.DefaultPartitioner()(key, partitions, partitions)


def test_as_java_finds_it() -> None:
    """Figures of Kafka's own test (UtilsTest.testMurmur2), there as signed numbers."""
    assert {text: murmur2(text.encode()) - (1 << 32) * (murmur2(text.encode()) >> 31) for text in _JAVA} == _JAVA


_JAVA = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}
