# SPDX-License-Identifier: GPL-2.0-or-later
"""Which handlers this machine has, in force or recorded in the manifest."""
