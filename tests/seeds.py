# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that draw their input: hundreds of seeds are one test, because pytest would need longer for each than they."""

from collections.abc import Callable


def each_seed(count: int) -> Callable[[Callable[[int], None]], Callable[[], None]]:
    """Call a test with all numbers below `count`; the report of a failure has the number."""

    def decorate(function: Callable[[int], None]) -> Callable[[], None]:
        def test() -> None:
            for seed in range(count):
                try:
                    function(seed)
                except BaseException as error:
                    error.add_note(f"with seed {seed}")
                    raise

        test.__name__, test.__doc__, test.__module__ = function.__name__, function.__doc__, function.__module__
        return test

    return decorate
