# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers power calls."""

from slurmhooks.handover.process import main
from slurmhooks.power.delivery import PowerDelivery

if __name__ == "__main__":
    main(PowerDelivery)
