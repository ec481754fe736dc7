# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of slurmhooks.toml, and the model that is made from them."""
