# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of documents and packages share fixtures with the unit tests."""

from tests.unit.conftest import no_copies, no_request, on_a_laptop, same_environment, write

__all__ = ["no_copies", "no_request", "on_a_laptop", "same_environment", "write"]
