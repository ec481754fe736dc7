# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers mails."""

from slurmhooks.handover.process import main
from slurmhooks.mail.delivery import MailDelivery

if __name__ == "__main__":
    main(MailDelivery)
