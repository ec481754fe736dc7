/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SPANK plugin of plugstack.conf: Slurm's calls, handed to slurmhooks.spank.entry. */
#include <slurm/spank.h>

#include <stdint.h>
#include <stdlib.h>

#include "stub/stub.h"

/* This name is part of what users may type: _SLURM_SPANK_OPTION_python_<option>. */
SPANK_PLUGIN(python, 1)

/* What Slurm gets when Python has no answer. Negative: before 25.05 slurmstepd takes only negative
 * codes for failures. */
#define FAILED (-ESPANK_ERROR)

static int option_callback(int value, const char *argument, int remote)
{
    static struct slurmhooks_entry entry = {"slurmhooks.spank.entry", "option", NULL};
    struct slurmhooks_answer answer;

    if (STUB_CALL(&entry, &answer, value, (intptr_t)argument, remote))
        return FAILED;
    free(answer.message);
    return answer.rc;
}

static int callback(const char *name, spank_t spank, int argc, char *argv[])
{
    static struct slurmhooks_entry entry = {"slurmhooks.spank.entry", "callback", NULL};
    struct slurmhooks_answer answer;

    if (STUB_CALL(&entry, &answer, (intptr_t)name, (intptr_t)spank, spank_context(), argc, (intptr_t)argv,
                  (intptr_t)option_callback))
        return FAILED;
    free(answer.message);
    return answer.rc;
}

/* One exported function a documented callback. */
#define CALLBACK(name)                                                                                  \
    int slurm_spank_##name(spank_t spank, int argc, char *argv[])                                       \
    {                                                                                                   \
        return callback(#name, spank, argc, argv);                                                      \
    }

CALLBACK(init)
CALLBACK(job_prolog)
CALLBACK(init_post_opt)
CALLBACK(local_user_init)
CALLBACK(user_init)
CALLBACK(task_init_privileged)
CALLBACK(task_init)
CALLBACK(task_post_fork)
CALLBACK(task_exit)
CALLBACK(exit)
CALLBACK(job_epilog)
CALLBACK(slurmd_exit)
