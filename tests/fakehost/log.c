/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's log functions, and syslog() in place of libc's, so that tests can read what is logged. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "output.h"

static void print(const char *level, const char *format, va_list arguments)
{
    va_list again;
    char *text;

    va_copy(again, arguments);
    if (vasprintf(&text, format, arguments) < 0 && (!output_use_reserve() || vasprintf(&text, format, again) < 0))
        abort();
    va_end(again);
    output_log(level, text);
    free(text);
}

#define LOG_FUNCTION(function, level)                                                    \
    extern void function(const char *format, ...) __attribute__((format(printf, 1, 2))); \
    void function(const char *format, ...)                                               \
    {                                                                                    \
        va_list arguments;                                                               \
                                                                                         \
        va_start(arguments, format);                                                     \
        print(level, format, arguments);                                                 \
        va_end(arguments);                                                               \
    }

LOG_FUNCTION(slurm_error, "ERROR")
LOG_FUNCTION(slurm_info, "INFO")
LOG_FUNCTION(slurm_verbose, "VERBOSE")
LOG_FUNCTION(slurm_debug, "DEBUG")
LOG_FUNCTION(slurm_debug2, "DEBUG2")
LOG_FUNCTION(slurm_debug3, "DEBUG3")
LOG_FUNCTION(slurm_debug4, "DEBUG4")
LOG_FUNCTION(slurm_spank_log, "SPANK")

/* RET whether the process could connect to the system's log. */
static int can_connect(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Code that is compiled with _FORTIFY_SOURCE calls __syslog_chk(). */
extern void syslog(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));
void syslog(int priority, const char *format, ...)
{
    va_list arguments;

    (void)priority;
    va_start(arguments, format);
    if (can_connect())
        print("SYSLOG", format, arguments);
    va_end(arguments);
}

extern void __syslog_chk(int priority, int flag, const char *format, ...) __attribute__((format(printf, 3, 4)));
void __syslog_chk(int priority, int flag, const char *format, ...)
{
    va_list arguments;

    (void)priority;
    (void)flag;
    va_start(arguments, format);
    if (can_connect())
        print("SYSLOG", format, arguments);
    va_end(arguments);
}
