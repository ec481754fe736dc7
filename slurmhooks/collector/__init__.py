# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written after the answer: decision log, metrics and recordings; how it is reported, checked and encoded."""
