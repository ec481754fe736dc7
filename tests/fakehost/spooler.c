/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for slurmctld: appends records to a spool, as standard input says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobcomp/spool.h"
#include "wire/wire.h"

static void print(bool error, const char *line)
{
    fprintf(stderr, "%s %s\n", error ? "ERROR" : "INFO", line);
}

/* Append a message of this size in bytes, which begins with the text. RET what slurmhooks_spool_append() returned. */
static bool append(struct slurmhooks_spool *spool, unsigned job_id, size_t size)
{
    char *message = calloc(1, size + 16);

    if (!message)
        abort();
    int length = snprintf(message, 16, "record %u", job_id);
    bool kept = slurmhooks_spool_append(spool, HOOK_job_end, job_id, message, (size_t)length + size);
    free(message);
    return kept;
}

/* Append the content of a file, at most 64 KiB. RET what slurmhooks_spool_append() returned. */
static bool append_file(struct slurmhooks_spool *spool, unsigned job_id, const char *path)
{
    static char message[65536];
    FILE *file = fopen(path, "r");

    if (!file)
        abort();
    size_t size = fread(message, 1, sizeof(message), file);
    fclose(file);
    return slurmhooks_spool_append(spool, HOOK_job_end, job_id, message, size);
}

/*
 * spooler FOLDER LIMIT never|interval|always; then lines "JOB_ID SIZE" or "JOB_ID @FILE", each answered by
 * "JOB_ID 0|1", or "sync".
 */
int main(int argc, char **argv)
{
    char why[256], line[512], path[480];

    if (argc != 4)
        return 2;
    struct slurmhooks_spool_config config = {
        .folder = argv[1],
        .limit = strtoull(argv[2], NULL, 10),
        .fsync = *argv[3] == 'n'   ? SLURMHOOKS_FSYNC_NEVER
                 : *argv[3] == 'i' ? SLURMHOOKS_FSYNC_INTERVAL
                                   : SLURMHOOKS_FSYNC_ALWAYS,
        .identity = slurmhooks_tables.identity,
        .table = slurmhooks_tables_text,
        .log = print,
    };
    struct slurmhooks_spool *spool = slurmhooks_spool_open(&config, why, sizeof(why));
    if (!spool) {
        printf("%s\n", why);
        return 1;
    }
    while (fgets(line, sizeof(line), stdin)) {
        unsigned job_id;
        size_t size;
        if (sscanf(line, "%u %zu", &job_id, &size) == 2)
            printf("%u %d\n", job_id, append(spool, job_id, size));
        else if (sscanf(line, "%u @%479s", &job_id, path) == 2)
            printf("%u %d\n", job_id, append_file(spool, job_id, path));
        else
            slurmhooks_spool_sync(spool);
        fflush(stdout);
    }
    slurmhooks_spool_close(spool);
    return 0;
}
