# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of this machine: where they are, who could have written them, and what has changed."""
