/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job_desc.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "output.h"

#define TEXT 0

/* A selection of members, with at least one of each type. */
static const struct member {
    const char *name;
    int bits; /* the size of an unsigned number; or TEXT */
    size_t offset;
    bool zero; /* its unset value is 0, not NO_VAL */
} members[] = {
    {"account", TEXT, offsetof(job_desc_msg_t, account), false},
    {"comment", TEXT, offsetof(job_desc_msg_t, comment), false},
    {"name", TEXT, offsetof(job_desc_msg_t, name), false},
    {"partition", TEXT, offsetof(job_desc_msg_t, partition), false},
    {"script", TEXT, offsetof(job_desc_msg_t, script), false},
    {"work_dir", TEXT, offsetof(job_desc_msg_t, work_dir), false},
    {"user_id", 32, offsetof(job_desc_msg_t, user_id), false},
    {"group_id", 32, offsetof(job_desc_msg_t, group_id), false},
    {"time_limit", 32, offsetof(job_desc_msg_t, time_limit), false},
    {"priority", 32, offsetof(job_desc_msg_t, priority), false},
    {"nice", 32, offsetof(job_desc_msg_t, nice), false},
    {"min_nodes", 32, offsetof(job_desc_msg_t, min_nodes), false},
    {"min_cpus", 32, offsetof(job_desc_msg_t, min_cpus), false},
    {"cpus_per_task", 16, offsetof(job_desc_msg_t, cpus_per_task), false},
    {"contiguous", 16, offsetof(job_desc_msg_t, contiguous), false},
    {"requeue", 16, offsetof(job_desc_msg_t, requeue), false},
    {"overcommit", 8, offsetof(job_desc_msg_t, overcommit), false},
    {"pn_min_memory", 64, offsetof(job_desc_msg_t, pn_min_memory), false},
    {"begin_time", 64, offsetof(job_desc_msg_t, begin_time), true},
};

#define MEMBERS (sizeof(members) / sizeof(members[0]))

static void put(void *place, int bits, uint64_t value)
{
    switch (bits) {
    case 8: *(uint8_t *)place = (uint8_t)value; break;
    case 16: *(uint16_t *)place = (uint16_t)value; break;
    case 32: *(uint32_t *)place = (uint32_t)value; break;
    default: *(uint64_t *)place = value;
    }
}

static uint64_t get(const void *place, int bits)
{
    switch (bits) {
    case 8: return *(const uint8_t *)place;
    case 16: return *(const uint16_t *)place;
    case 32: return *(const uint32_t *)place;
    default: return *(const uint64_t *)place;
    }
}

static uint64_t number(const char *text)
{
    if (!strcmp(text, "NO_VAL"))
        return NO_VAL64; /* its low bits are NO_VAL of each width */
    if (!strcmp(text, "INFINITE"))
        return INFINITE64;
    return strtoull(text, NULL, 0);
}

/* Fill an array from the words KEY=ITEM. As in Slurm, it ends with a NULL that is not counted. */
static void fill_array(const struct line *line, const char *key, char ***array, uint32_t *count)
{
    size_t size = strlen(key);

    for (int i = 1; i < line->count; i++)
        *count += !strncmp(line->words[i], key, size) && line->words[i][size] == '=';
    if (!*count)
        return;
    *array = slurm_xcalloc(*count + 1, sizeof(char *), true, false, NULL, 0, NULL);
    uint32_t next = 0;
    for (int i = 1; i < line->count; i++)
        if (!strncmp(line->words[i], key, size) && line->words[i][size] == '=')
            (*array)[next++] = slurm_xstrdup(line->words[i] + size + 1);
}

void job_desc_fill(job_desc_msg_t *desc, const struct line *line)
{
    memset(desc, 0, sizeof(*desc));
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct member *member = &members[i];
        const char *value = line_value(line, member->name);
        void *place = (char *)desc + member->offset;

        if (member->bits == TEXT)
            *(char **)place = slurm_xstrdup(value);
        else if (value || !member->zero)
            put(place, member->bits, number(value ? value : "NO_VAL"));
    }
    fill_array(line, "argv", &desc->argv, &desc->argc);
    fill_array(line, "environment", &desc->environment, &desc->env_size);
    fill_array(line, "spank_job_env", &desc->spank_job_env, &desc->spank_job_env_size);
}

static void print_array(FILE *result, const char *key, const char *counter, char **array, uint32_t count)
{
    if (!array && !count)
        return;
    output_number(result, counter, count);
    for (uint32_t i = 0; i < count; i++)
        output_text(result, key, array[i]);
    if (!array || array[count])
        output_text(result, "broken", key);
}

void job_desc_print(const job_desc_msg_t *desc, FILE *result)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct member *member = &members[i];
        const void *place = (const char *)desc + member->offset;

        if (member->bits == TEXT)
            output_text(result, member->name, *(char *const *)place);
        else
            output_unsigned(result, member->name, get(place, member->bits), member->bits);
    }
    print_array(result, "argv", "argc", desc->argv, desc->argc);
    print_array(result, "environment", "env_size", desc->environment, desc->env_size);
    print_array(result, "spank_job_env", "spank_job_env_size", desc->spank_job_env, desc->spank_job_env_size);
}

static void free_array(char ***array, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        slurm_xfree((void **)&(*array)[i]);
    slurm_xfree((void **)array);
}

void job_desc_free(job_desc_msg_t *desc)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (members[i].bits == TEXT)
            slurm_xfree((void **)((char *)desc + members[i].offset));
    free_array(&desc->argv, desc->argc);
    free_array(&desc->environment, desc->env_size);
    free_array(&desc->spank_job_env, desc->spank_job_env_size);
}
