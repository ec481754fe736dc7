/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes to Slurm's log. The program that loads the plugin provides these functions, as for every plugin of Slurm. */
#ifndef SLURMHOOKS_LOG_H
#define SLURMHOOKS_LOG_H

#include <stdbool.h>
#include <sys/resource.h>
#include <syslog.h>

#define SLURMHOOKS_PRINTF __attribute__((format(printf, 1, 2)))
extern void slurm_error(const char *format, ...) SLURMHOOKS_PRINTF;
extern void slurm_info(const char *format, ...) SLURMHOOKS_PRINTF;
extern void slurm_verbose(const char *format, ...) SLURMHOOKS_PRINTF;
extern void slurm_debug(const char *format, ...) SLURMHOOKS_PRINTF;
extern void slurm_debug2(const char *format, ...) SLURMHOOKS_PRINTF;
extern void slurm_debug3(const char *format, ...) SLURMHOOKS_PRINTF;
extern void slurm_debug4(const char *format, ...) SLURMHOOKS_PRINTF;
extern void slurm_spank_log(const char *format, ...) SLURMHOOKS_PRINTF;

/* Log one line at level error. */
#define log_error(format, ...) slurm_error("slurmhooks: " format, ##__VA_ARGS__)

/* Log one line for Python. IN level: an index into slurmhooks.log.LEVELS. */
static inline void slurmhooks_log(int level, const char *text)
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

/*
 * Write one line to the system's log, in processes where Slurm's log is the user's terminal. syslog() needs a
 * descriptor, and a handler may have used up all that the process may have.
 */
static inline void slurmhooks_syslog(const char *text)
{
    struct rlimit before, most;
    bool raised = !getrlimit(RLIMIT_NOFILE, &before) && before.rlim_cur < before.rlim_max;

    if (raised) {
        most = (struct rlimit){.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
        raised = !setrlimit(RLIMIT_NOFILE, &most);
    }
    syslog(LOG_USER | LOG_ERR, "%s", text);
    if (raised)
        setrlimit(RLIMIT_NOFILE, &before);
}

#endif
