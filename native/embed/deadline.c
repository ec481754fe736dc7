/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits the time of a handler in the processes of a launch, where no other process supervises it.
 *
 * A timer sends a signal to the thread that runs the handler. The signal first has Python raise an exception, which
 * ends Python code and interrupts system calls. Code that ignores it, such as a loop in C, ends with its process.
 */
#include "embed/deadline.h"

#include <Python.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "embed/ending.h"
#include "embed/guard.h"
#include "log.h"

/* glibc names this member differently. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A signal that neither Slurm nor glibc uses. */
#define NUMBER (SIGRTMAX - 3)
/* How many signals it takes to end the process; earlier ones only interrupt the handler. */
#define LAST 3
/* slurmd must not end because of a handler: there, one message is logged per this many signals. */
#define LOGGED 12

static timer_t timer;
static int was_blocked; /* whether the signal was blocked before the handler ran */
static pid_t armed;     /* the process that has the timer, which a forked child does not inherit; 0: none */
static volatile sig_atomic_t signals;
static volatile sig_atomic_t interrupts; /* whether Python runs signal handlers in this thread */
static volatile sig_atomic_t ends;       /* what ends with the handler */
static double allowed;                   /* seconds */
static char what[512];

/* The first signals make Python raise an exception. The last ones end the process, even if the log's lock is held. */
static void expired(int number)
{
    int saved = errno;

    signals++;
    if (ends != ENDS_NOTHING && signals >= LAST) {
        ending_announce(what, ends);
        _exit(1);
    }
    if (ends == ENDS_NOTHING && signals % LOGGED == 0)
        log_error("%s, and this process has to go on", what);
    if (interrupts)
        PyErr_SetInterruptEx(number);
    errno = saved;
}

static struct timespec timespec_of(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};

    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    /* A timer that is set to 0 would never expire. */
    if (!time.tv_sec && time.tv_nsec < 1)
        time.tv_nsec = 1;
    return time;
}

/* Block or unblock only this signal, in this thread: a handler may change the others. OUT former: the whole mask. */
static void mask(int how, sigset_t *former)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, NUMBER);
    pthread_sigmask(how, &set, former);
}

static void disarm(void)
{
    const struct sigaction none = {.sa_handler = SIG_DFL};

    if (!armed)
        return;
    if (armed == getpid())
        timer_delete(timer);
    sigaction(NUMBER, &none, NULL);
    if (was_blocked)
        mask(SIG_BLOCK, NULL);
    armed = 0;
}

/*
 * Send the signal to this thread repeatedly.
 *
 * IN seconds  until the first signal
 * IN again    seconds between two signals
 * RET 0, or -1 with errno
 */
static int arm(double seconds, double again)
{
    struct sigaction action = {.sa_handler = expired, .sa_flags = SA_NODEFER};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = NUMBER};
    const struct itimerspec times = {.it_value = timespec_of(seconds), .it_interval = timespec_of(again)};
    sigset_t former;

    event.sigev_notify_thread_id = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        return -1;
    sigaction(NUMBER, &action, NULL);
    mask(SIG_UNBLOCK, &former);
    was_blocked = sigismember(&former, NUMBER);
    armed = getpid();
    return timer_settime(timer, 0, &times, NULL);
}

void deadline_over(void)
{
    disarm();
    guard_end();
}

static void set_what(const char *text)
{
    snprintf(what, sizeof(what), "%s took more than %g s cannot be interrupted", text, allowed);
}

/* begin(seconds, again, what, interrupts, ends) */
static PyObject *begin(PyObject *self, PyObject *arguments)
{
    double seconds, again;
    const char *text;
    int may_interrupt, with_it;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "ddspi", &seconds, &again, &text, &may_interrupt, &with_it))
        return NULL;
    deadline_over();
    signals = 0;
    interrupts = may_interrupt;
    ends = with_it;
    allowed = seconds;
    set_what(text);
    if (arm(seconds, again))
        return PyErr_SetFromErrno(PyExc_OSError);
    guard_begin(text, with_it);
    Py_RETURN_NONE;
}

/* describe(what) */
static PyObject *describe(PyObject *self, PyObject *py_text)
{
    const char *text = PyUnicode_AsUTF8(py_text);

    (void)self;
    if (!text)
        return NULL;
    set_what(text);
    guard_describe(text);
    Py_RETURN_NONE;
}

/* end() */
static PyObject *end(PyObject *self, PyObject *arguments)
{
    (void)self, (void)arguments;
    disarm();
    const char *put_back = guard_end();
    return put_back ? PyUnicode_FromString(put_back) : Py_NewRef(Py_None);
}

/* step(name) */
static PyObject *step(PyObject *self, PyObject *py_name)
{
    const char *name = PyUnicode_AsUTF8(py_name);

    (void)self;
    if (!name)
        return NULL;
    ending_set_step(name);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(step_doc, "Set the name of slurmstepd's step, in the form that scancel takes.");
PyDoc_STRVAR(begin_doc, "Send signal NUMBER to this thread after some seconds; see slurmhooks/handlers/deadline.py.");
PyDoc_STRVAR(describe_doc, "Change the description of what runs, for messages.");
PyDoc_STRVAR(end_doc, "Stop sending signals; return a list of what the handler had changed and was restored, or None.");

static PyMethodDef methods[] = {
    {"step", step, METH_O, step_doc},
    {"begin", begin, METH_VARARGS, begin_doc},
    {"describe", describe, METH_O, describe_doc},
    {"end", end, METH_NOARGS, end_doc},
    {NULL, NULL, 0, NULL},
};

/*
 * Import CPython's signal module, then restore SIGINT, which the import takes over: srun handles Ctrl-C itself.
 *
 * RET 0, or -1 with an exception
 */
static int import_signal(void)
{
    struct sigaction action;

    sigaction(SIGINT, NULL, &action);
    PyObject *py_signal = PyImport_ImportModule("_signal");
    sigaction(SIGINT, &action, NULL);
    Py_XDECREF(py_signal);
    return py_signal ? 0 : -1;
}

int deadline_install(void)
{
    PyObject *py_module = PyImport_AddModule("_slurmhooks_deadline"); /* borrowed */

    if (!py_module || import_signal() || PyModule_AddIntConstant(py_module, "NUMBER", NUMBER) ||
        PyModule_AddFunctions(py_module, methods))
        return -1;
    return guard_install();
}
