/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's log for Python: the levels are indices into slurmhooks.log.LEVELS. */
#ifndef SLURMHOOKS_LOG_BRIDGE_H
#define SLURMHOOKS_LOG_BRIDGE_H

#include <syslog.h>

extern void slurm_error(const char *format, ...);
extern void slurm_info(const char *format, ...);
extern void slurm_verbose(const char *format, ...);
extern void slurm_debug(const char *format, ...);
extern void slurm_debug2(const char *format, ...);
extern void slurm_debug3(const char *format, ...);
extern void slurm_debug4(const char *format, ...);
extern void slurm_spank_log(const char *format, ...);

static void slurmhooks_log(int level, const char *text)
{
    switch (level) {
    case 0: slurm_error("%s", text); break;
    case 1: slurm_info("%s", text); break;
    case 2: slurm_verbose("%s", text); break;
    case 3: slurm_debug("%s", text); break;
    case 4: slurm_debug2("%s", text); break;
    case 5: slurm_debug3("%s", text); break;
    case 7: slurm_debug4("%s", text); break;
    default: slurm_spank_log("%s", text);
    }
}

/* For processes that have no log of their own, only the user's terminal. */
__attribute__((unused)) static void slurmhooks_syslog(const char *text)
{
    syslog(LOG_USER | LOG_ERR, "%s", text);
}

#endif
