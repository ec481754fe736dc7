# SPDX-License-Identifier: GPL-2.0-or-later
"""What `check` looks for: each module finds one kind of mistake of a site."""
