# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports as pages: one HTML file without network access, for browsers of any width and for paper."""
