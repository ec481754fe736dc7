/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/home.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_config.h"
#include "trusted.h"

#define FILE_NAME "slurmhooks.home"
#define TOO_LONG "its path is too long"
#define RECEIVED "/run/slurm/conf"

/* Join a folder and a name. RET 0, or -1: too long. */
static int join(char *path, size_t size, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    int written = snprintf(path, size, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", name);

    return written < 0 || (size_t)written >= size ? -1 : 0;
}

/*
 * Find the folder of slurm.conf, where Slurm itself looks for its other files; a relative SLURM_CONF starts at the
 * current folder. Without it, a node that has no slurm.conf uses what its slurmd has received from slurmctld. OUT
 * folder, of PATH_MAX bytes. RET 0, or -1: too long.
 */
static int conf_folder(char *folder)
{
    const char *conf = getenv("SLURM_CONF");

    if (!conf || !*conf) {
        bool is_received = access(SLURMHOOKS_SYSCONFDIR "/slurm.conf", F_OK) && !access(RECEIVED "/slurm.conf", F_OK);
        strcpy(folder, is_received ? RECEIVED : SLURMHOOKS_SYSCONFDIR);
        return 0;
    }
    folder[0] = '\0';
    if (*conf != '/' && !getcwd(folder, PATH_MAX))
        return -1;
    size_t start = strlen(folder);
    if (*conf == '/' ? snprintf(folder, PATH_MAX, "%s", conf) >= PATH_MAX
                     : join(folder + start, PATH_MAX - start, "", conf))
        return -1;
    char *slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    return 0;
}

/* Read the folder that slurmhooks.home names. OUT folder, of PATH_MAX bytes; why. RET 0, or -1. */
static int read_home(const char *file, char *folder, const char **why)
{
    static char untrusted[PATH_MAX + 128];

    untrusted[0] = '\0';
    int fd = trusted_open(file, untrusted, sizeof(untrusted));
    *why = untrusted[0] ? untrusted : FILE_NAME " cannot be read";
    if (fd < 0)
        return -1;
    ssize_t length = read(fd, folder, PATH_MAX);
    close(fd);
    if (length < 0)
        return -1;
    *why = FILE_NAME " must have one line, the absolute path of a folder";
    if (length && folder[length - 1] == '\n')
        length--;
    if (!length || length == PATH_MAX || *folder != '/')
        return -1;
    folder[length] = '\0';
    for (ssize_t i = 0; i < length; i++) {
        if (iscntrl((unsigned char)folder[i]))
            return -1;
    }
    return 0;
}

int home_path(const char *name, char *path, size_t size, const char **why)
{
    char folder[PATH_MAX], file[PATH_MAX];
    struct stat status;

    *why = TOO_LONG;
    if (conf_folder(folder) || join(file, sizeof(file), folder, FILE_NAME))
        return -1;
    /* Most machines have no such file. */
    if (!lstat(file, &status)) {
        if (read_home(file, folder, why))
            return -1;
    } else if (errno != ENOENT) {
        *why = "it cannot be read";
        return -1;
    }
    *why = TOO_LONG;
    return join(path, size, folder, name);
}
