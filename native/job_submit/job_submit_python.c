/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JobSubmitPlugins=python: slurmctld's calls, handed to slurmhooks.job_submit.entry. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stub/stub.h"

const char plugin_name[] = "Job submit Python plugin (slurmhooks)";
const char plugin_type[] = "job_submit/python";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* What slurmctld gets when Python has no answer: the submission is refused. */
#define FAILED SLURM_ERROR
#define FAILED_TEXT "slurmhooks: the job_submit hooks could not run; please tell your administrators"

/* Slurm's allocator: slurmctld frees err_msg with it. */
extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree(void **item);

/* Add a message for the user to those of the plugins before us. */
static void append_message(char **err_msg, const char *text)
{
    if (!err_msg || !text)
        return;
    if (!*err_msg) {
        *err_msg = slurm_xstrdup(text);
        return;
    }
    size_t old = strlen(*err_msg), size = old + strlen(text) + 2;
    char *joined = malloc(size);
    if (!joined)
        return;
    memcpy(joined, *err_msg, old);
    joined[old] = '\n';
    strcpy(joined + old + 1, text);
    slurm_xfree((void **)err_msg);
    *err_msg = slurm_xstrdup(joined);
    free(joined);
}

static int finish(int failed, struct slurmhooks_answer *answer, char **err_msg)
{
    if (failed) {
        append_message(err_msg, FAILED_TEXT);
        return FAILED;
    }
    /* 22.05's job_modify has no err_msg: what it would hold, Python has logged. */
    append_message(err_msg, answer->message);
    free(answer->message);
    return answer->rc;
}

extern int init(void)
{
    static struct slurmhooks_entry entry = {"slurmhooks.job_submit.entry", "init", NULL, 0};
    struct slurmhooks_answer answer;

    return finish(STUB_CALL(&entry, &answer, SLURM_VERSION_NUMBER), &answer, NULL);
}

extern int fini(void)
{
    static struct slurmhooks_entry entry = {"slurmhooks.job_submit.entry", "fini", NULL, 0};
    struct slurmhooks_answer answer;

    return finish(STUB_CALL(&entry, &answer, SLURM_VERSION_NUMBER), &answer, NULL);
}

extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg)
{
    static struct slurmhooks_entry entry = {"slurmhooks.job_submit.entry", "job_submit", NULL, 1};
    struct slurmhooks_answer answer;

    return finish(STUB_CALL(&entry, &answer, (intptr_t)job_desc, submit_uid), &answer, err_msg);
}

static int modify(job_desc_msg_t *job_desc, void *job_record, uint32_t modify_uid, char **err_msg)
{
    static struct slurmhooks_entry entry = {"slurmhooks.job_submit.entry", "job_modify", NULL, 1};
    struct slurmhooks_answer answer;

    return finish(STUB_CALL(&entry, &answer, (intptr_t)job_desc, (intptr_t)job_record, modify_uid), &answer, err_msg);
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
extern int job_modify(job_desc_msg_t *job_desc, void *job_record, uint32_t modify_uid, char **err_msg)
{
    return modify(job_desc, job_record, modify_uid, err_msg);
}
#else
extern int job_modify(job_desc_msg_t *job_desc, void *job_record, uint32_t modify_uid)
{
    return modify(job_desc, job_record, modify_uid, NULL);
}
#endif
