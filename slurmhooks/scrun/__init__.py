# SPDX-License-Identifier: GPL-2.0-or-later
"""The scrun plugin point: staging of OCI containers, in the anchor process of scrun."""
