"""Kafka through aiokafka."""

from worker.stream.cut_connections import survive_cuts

survive_cuts()
