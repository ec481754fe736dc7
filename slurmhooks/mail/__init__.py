# SPDX-License-Identifier: GPL-2.0-or-later
"""The mail hook: MailProg hands the mails of jobs over to a process that delivers them."""
