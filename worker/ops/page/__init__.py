"""The page for people on the worker's HTTP port, and the JSON that it is made of. It reads, and changes nothing."""

from worker.ops.page.page import Page
from worker.ops.page.questions import Answer, Answers

__all__ = ["Answer", "Answers", "Page"]
