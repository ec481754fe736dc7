/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A descriptor number that scripts neither close nor get for the files that they open. */
#define HIGH_DESCRIPTOR 200
/* Bytes that are reserved for messages. */
#define RESERVE (1 << 20)

static int results = STDOUT_FILENO;
static int log_lines = STDERR_FILENO;
static int errors;

/* Each thread writes one result at a time. */
static __thread char *buffer;
static __thread size_t buffer_size;
static __thread int quiet;
static __thread int failures;

static void write_all(int descriptor, const char *text, size_t size)
{
    while (size) {
        ssize_t done = write(descriptor, text, size);
        if (done < 0 && errno != EINTR)
            return;
        if (done > 0) {
            text += done;
            size -= (size_t)done;
        }
    }
}

void output_to_file(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    results = log_lines = fcntl(descriptor, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (results < 0) {
        perror(path);
        exit(2);
    }
    close(descriptor);
}

static void *reserve;

/* If memory is short, Slurm aborts in its own code; here tests check what plugins do. */
__attribute__((constructor)) static void keep_reserve(void)
{
    reserve = malloc(RESERVE);
}

bool output_use_reserve(void)
{
    void *block = __atomic_exchange_n(&reserve, NULL, __ATOMIC_SEQ_CST);

    free(block);
    return block != NULL;
}

void output_log(const char *level, const char *text)
{
    char *line;
    int size;

    do
        size = asprintf(&line, "%s %s\n", level, text);
    while (size < 0 && output_use_reserve());
    if (size < 0)
        abort();
    write_all(log_lines, line, (size_t)size);
    free(line);
    if (!strcmp(level, "ERROR"))
        __atomic_add_fetch(&errors, 1, __ATOMIC_SEQ_CST);
}

int output_errors(void)
{
    return __atomic_load_n(&errors, __ATOMIC_SEQ_CST);
}

FILE *output_begin(const char *command)
{
    FILE *result;

    do
        result = open_memstream(&buffer, &buffer_size);
    while (!result && output_use_reserve());
    if (!result)
        abort();
    fputs(command, result);
    return result;
}

void output_end(FILE *result)
{
    fputc('\n', result);
    fclose(result);
    if (!quiet)
        write_all(results, buffer, buffer_size);
    free(buffer);
}

void output_number(FILE *result, const char *key, long long value)
{
    fprintf(result, " %s=%lld", key, value);
}

void output_unsigned(FILE *result, const char *key, uint64_t value, int bits)
{
    uint64_t infinite = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

    if (value == infinite)
        fprintf(result, " %s=INFINITE", key);
    else if (value == infinite - 1)
        fprintf(result, " %s=NO_VAL", key);
    else
        fprintf(result, " %s=%llu", key, (unsigned long long)value);
}

void output_text(FILE *result, const char *key, const char *text)
{
    if (!text) {
        fprintf(result, " %s=NULL", key);
        return;
    }
    fprintf(result, " %s=\"", key);
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
        if (*byte < ' ' || *byte > '~' || *byte == '"' || *byte == '\\')
            fprintf(result, "\\x%02x", *byte);
        else
            fputc(*byte, result);
    }
    fputc('"', result);
}

void output_rc(FILE *result, int rc)
{
    failures += rc != 0;
    output_number(result, "rc", rc);
}

void output_failure(void)
{
    failures++;
}

int output_failures(void)
{
    return quiet ? failures : 0;
}

int output_quiet(int on)
{
    int count = failures;

    quiet = on;
    failures = 0;
    return count;
}
