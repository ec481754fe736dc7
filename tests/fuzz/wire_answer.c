/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer of a worker: it is applied to a job as a whole, or refused and changes nothing. */
#include <slurm/slurm.h>
#include <string.h>

#include "../fakehost/memory.h"
#include "fuzz.h"

/* Memory after the struct, which no write to a member may reach. */
struct job {
    job_desc_msg_t desc;
    char behind[64];
};

static void check_texts(char **array, uint32_t count)
{
    FUZZ_EXPECT(array != NULL || !count);
    for (uint32_t i = 0; i < count; i++)
        FUZZ_EXPECT(array[i] && strlen(array[i]) <= UINT32_MAX);
    FUZZ_EXPECT(!array || !array[count]);
}

static void free_texts(char **array, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        slurm_xfree((void **)&array[i]);
    slurm_xfree((void **)&array);
}

static void free_members(char *job)
{
    const struct slurmhooks_table *table = &slurmhooks_tables.table[0];

    for (const struct slurmhooks_member *member = table->members; member < table->members + table->count; member++) {
        if (member->via[0] != SLURMHOOKS_DIRECT)
            continue;
        void **at = (void **)(job + member->offset);
        if (member->kind == SLURMHOOKS_TEXT) {
            slurm_xfree(at);
        } else if (member->kind == SLURMHOOKS_TEXTS) {
            uint32_t count = *(uint32_t *)(job + member->count);
            check_texts(*at, count);
            free_texts(*at, count);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char pattern[64] = "unchanged";
    struct slurmhooks_verdict verdict = {0};
    struct slurmhooks_buffer buffer;
    struct job job = {.desc = {0}}, before;
    size_t length;
    char *answer = fuzz_message(data, size, SLURMHOOKS_ANSWER, &length);

    memcpy(job.behind, pattern, sizeof(pattern));
    job.desc.account = slurm_xstrdup("physics");
    job.desc.argv = slurm_xcalloc(2, sizeof(char *), true, false, NULL, 0, NULL);
    job.desc.argv[0] = slurm_xstrdup("run");
    job.desc.argc = 1;
    before = job;
    const char *wrong = slurmhooks_apply(answer, length, &job.desc, &verdict);
    FUZZ_EXPECT(!wrong || !memcmp(&before, &job, sizeof(job)));
    FUZZ_EXPECT(wrong || !verdict.text || strlen(verdict.text) < length);
    FUZZ_EXPECT(!memcmp(job.behind, pattern, sizeof(pattern)));
    FUZZ_EXPECT(!wrong || slurmhooks_apply(answer, length, NULL, &verdict));
    /* A changed job can be packed again. */
    slurmhooks_begin(&buffer, SLURMHOOKS_REQUEST);
    slurmhooks_put_struct(&buffer, 0, &job.desc);
    FUZZ_EXPECT(slurmhooks_end(&buffer, 0, 0, 0) && buffer.size % 8 == 0);
    free(buffer.data);
    free_members((char *)&job.desc);
    FUZZ_EXPECT(memory_balance() == 0);
    free(answer);
    return 0;
}
