# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of ``deploy`` and ``rollback`` share."""

HANDLER = "@hook.job_submit\ndef version_{}(job): pass\n"
