"""How the process handles memory, for a loop that makes and drops the same many megabytes batch after batch."""

from __future__ import annotations

import ctypes
import gc

_OBJECTS = 300_000
# Of glibc's malloc.h. Numbers of mallopt's parameters, and what they are set to, in bytes.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGE, _SPARE = 64 * 1024, 8 * 1024 * 1024


def spare_the_collector() -> None:
    """Let the garbage collector look at less, less often: a batch makes many objects and no cycles.

    What is loaded by now stays for ever, so it is never looked at again (`gc.freeze`). What is made later is looked at
    only when there is more of it than two batches of 2,000 hold at once: at 50,000 that took 4 % of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, 20, 50)


def keep_the_heap_whole() -> bool:
    """Let glibc take large blocks, such as a Kafka batch, from the system and give them back there, each by itself.

    It would learn from the first that is given back to keep them in its heap, which the small ones between them then
    cut to pieces: a worker grew from 128 to 160 MB in two million matches. Gives whether there is a glibc to tell.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGE) and mallopt(_M_TRIM_THRESHOLD, _SPARE))
