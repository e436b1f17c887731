class StackError(Exception):
    """A local server could not be had: the message says which, why, and what can be done."""
