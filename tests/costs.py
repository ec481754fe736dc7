# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the cost of a function without wall-clock time."""

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any


def cost(function: Callable[[], object]) -> tuple[int, int]:
    """Return how many lines of Python a function runs, and how many bytes it allocates at most."""
    steps = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    tracemalloc.start()
    sys.settrace(count)
    try:
        function()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        sys.settrace(before)
        tracemalloc.stop()
    return steps, peak


def processor_time(function: Callable[[], object]) -> float:
    """Return the seconds of processor time that one call takes.

    Regular expressions, searches and copies run in C, where no lines can be counted.
    """
    gc.collect()
    gc.disable()  # the cost of a collection depends on all objects of the process
    try:
        start = time.thread_time()
        function()
        return time.thread_time() - start
    finally:
        gc.enable()
