/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli_filter/rehearsal.h"

#include <slurm/slurm_errno.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_filter/options.h"
#include "python/module.h"

/*
 * A report: one of these characters, Slurm's messages, then name, one character, and text of each option that is set;
 * each text ends with a zero byte. COMPLETE, with which no name begins, ends a report.
 */
#define ACCEPTED '+'
#define REFUSED '-'
#define ENDED '!'
#define HAS_TEXT '='
#define NO_TEXT '0'
#define COMPLETE '.'

struct write {
    const char *name;
    const char *value; /* NULL resets the option */
};

/* In the child: where the report goes, and what Slurm writes to standard output and standard error. */
static int report_to = -1, messages = -1;

/* Write the first characters of a report: the result, and Slurm's messages. */
static void begin_report(FILE *report, char result)
{
    char part[4096];
    ssize_t size;

    fputc(result, report);
    for (off_t at = 0; (size = pread(messages, part, sizeof(part), at)) > 0; at += size)
        for (ssize_t i = 0; i < size; i++)
            if (part[i])
                fputc(part[i], report);
    fputc('\0', report);
}

/* Send a report and end the child, without what the command does at its end. */
static _Noreturn void end_report(FILE *report)
{
    fputc(COMPLETE, report);
    fflush(report);
    _exit(0);
}

/* exit() was called: Slurm ends the command. */
static void ended(void)
{
    FILE *report = fdopen(report_to, "w");

    if (!report)
        _exit(1);
    begin_report(report, ENDED);
    end_report(report);
}

static void report_options(FILE *report, slurm_opt_t *opt)
{
    char *name = NULL, *value = NULL;
    size_t state = 0;

    while (slurm_option_get_next_set(opt, &name, &value, &state))
        fprintf(report, "%s%c%c%s%c", name, 0, value ? HAS_TEXT : NO_TEXT, value ? value : "", 0);
}

static int carry_out(slurm_opt_t *opt, const struct write *write, int early)
{
    if (write->value)
        return slurm_option_set(opt, write->name, write->value, early) == SLURM_SUCCESS;
    return slurm_option_reset(opt, write->name);
}

static _Noreturn void run_child(int output, slurm_opt_t *opt, const struct write *writes, size_t count, int early)
{
    const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    int accepted = 1;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0); /* no core file of what does not happen to the command */
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        signal(fatal[i], SIG_DFL);
    report_to = output;
    messages = memfd_create("messages", MFD_CLOEXEC);
    if (messages < 0 || dup2(messages, STDOUT_FILENO) < 0 || dup2(messages, STDERR_FILENO) < 0 || atexit(ended))
        _exit(1);
    for (size_t i = 0; i < count; i++)
        accepted = carry_out(opt, &writes[i], early);
    FILE *report = fdopen(output, "w");
    if (!report)
        _exit(1);
    begin_report(report, accepted ? ACCEPTED : REFUSED);
    report_options(report, opt);
    end_report(report);
}

/* As read(), while other threads may run Python. */
static ssize_t read_part(int input, char *part, size_t size)
{
    PyThreadState *state = PyEval_SaveThread();
    ssize_t count = read(input, part, size);

    PyEval_RestoreThread(state); /* keeps errno */
    return count;
}

/* RET 0; or -1 with an exception, also of a signal handler that runs meanwhile, such as that of the time limit. */
static int read_all(int input, char **bytes, size_t *size)
{
    FILE *memory = open_memstream(bytes, size);
    char part[4096];
    ssize_t count = -1;

    while (memory) {
        count = read_part(input, part, sizeof(part));
        if (count < 0 && errno == EINTR && !PyErr_CheckSignals())
            continue;
        if (count <= 0 || fwrite(part, 1, (size_t)count, memory) != (size_t)count)
            break;
    }
    if (count && !PyErr_Occurred())
        PyErr_SetFromErrno(PyExc_OSError);
    if (memory)
        fclose(memory);
    return count ? -1 : 0;
}

/* RET new: the options of a report, whose list begins at `at`; or NULL with an exception. */
static PyObject *options_of(const char *at, const char *end)
{
    PyObject *py_options = PyList_New(0);

    while (py_options && at < end) {
        const char *name = at, *kind = name + strlen(name) + 1, *text = kind + 1;
        PyObject *py_pair =
            Py_BuildValue("(NN)", slurmhooks_text(name), slurmhooks_text(*kind == HAS_TEXT ? text : NULL));
        if (!py_pair || PyList_Append(py_options, py_pair))
            Py_CLEAR(py_options);
        Py_XDECREF(py_pair);
        at = text + strlen(text) + 1;
    }
    return py_options;
}

/* RET new: what rehearse() returns. The child has crashed or been killed if the report is not complete. */
static PyObject *decode(const char *report, size_t size)
{
    if (size < 2 || report[size - 2] || report[size - 1] != COMPLETE)
        return Py_BuildValue("(OsO)", Py_False, "", Py_None);
    const char *said = report + 1, *options = said + strlen(said) + 1;
    PyObject *py_options = *report == ENDED ? Py_NewRef(Py_None) : options_of(options, report + size - 1);
    return Py_BuildValue("(ONN)", *report == ACCEPTED ? Py_True : Py_False, slurmhooks_text(said), py_options);
}

/* Run the writes in a child. RET new, or NULL with an exception. */
static PyObject *fork_and_ask(slurm_opt_t *opt, const struct write *writes, size_t count, int early)
{
    int ends[2];
    char *report = NULL;
    size_t size = 0;

    if (pipe2(ends, O_CLOEXEC))
        return PyErr_SetFromErrno(PyExc_OSError);
    pid_t child = fork();
    if (!child)
        run_child(ends[1], opt, writes, count, early);
    int reason = errno;
    close(ends[1]);
    int rc = child < 0 ? -1 : read_all(ends[0], &report, &size);
    close(ends[0]);
    if (child < 0) {
        errno = reason;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    if (rc)
        kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    PyObject *py_result = rc ? NULL : decode(report, size);
    free(report);
    return py_result;
}

/* RET 0, or -1 with an exception. */
static int parse_write(PyObject *py_write, struct write *write)
{
    PyObject *py_value;
    char *value = NULL;

    if (!PyArg_ParseTuple(py_write, "yO", &write->name, &py_value))
        return -1;
    if (py_value != Py_None && PyBytes_AsStringAndSize(py_value, &value, NULL))
        return -1;
    write->value = value;
    return 0;
}

PyObject *rehearse(PyObject *self, PyObject *arguments)
{
    unsigned long long address;
    PyObject *py_writes, *py_result = NULL;
    int early;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "KO!p", &address, &PyList_Type, &py_writes, &early))
        return NULL;
    if (!address)
        return PyErr_Format(PyExc_ValueError, "the address of the options is 0");
    Py_ssize_t count = PyList_GET_SIZE(py_writes);
    struct write *writes = PyMem_Calloc((size_t)count + 1, sizeof(*writes));
    if (!writes)
        return PyErr_NoMemory();
    Py_ssize_t parsed = 0;
    while (parsed < count && !parse_write(PyList_GET_ITEM(py_writes, parsed), &writes[parsed]))
        parsed++;
    if (parsed == count)
        py_result = fork_and_ask((slurm_opt_t *)(uintptr_t)address, writes, (size_t)count, early); /* NOLINT */
    PyMem_Free(writes);
    return py_result;
}
