# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the workshop's commands share fixtures with those of the others."""

from tests.unit.cli.conftest import build, documents_fit_their_schema, machine, run, script, site

__all__ = ["build", "documents_fit_their_schema", "machine", "run", "script", "site"]
