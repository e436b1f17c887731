"""Kafka through aiokafka."""

from worker.stream.between_transactions import ask_again_soon
from worker.stream.cut_connections import survive_cuts

ask_again_soon()
survive_cuts()
