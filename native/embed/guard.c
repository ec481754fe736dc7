/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A handler may change its process on purpose (environment, folder, limits, namespaces), as a plugin in C may. The
 * changes that this file guards against are never intended: they make a process of Slurm hang or end later, far from
 * the cause.
 *
 * A task has its own process, which becomes the user's program, so nothing is restored there.
 */
#include "embed/guard.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <unistd.h>

#include "embed/fork.h"
#include "log.h"

#define SIGNALS 32      /* the standard ones; Slurm uses no others */
#define DESCRIPTORS 256 /* a process that lives for one launch has fewer open */
#define MANY 4          /* other threads close fewer descriptors while a handler runs */
#define STACK 65536

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static struct {
    pid_t process; /* the guarded process; 0: none */
    enum ends ends;
    char what[256];
    struct sigaction actions[SIGNALS];
    stack_t stack;
    bool has_timer;
    char locale[256];
    uid_t uid;
    gid_t gid;
    struct pollfd descriptors[DESCRIPTORS];
} before;

static bool is_fatal(int number)
{
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        if (fatal[i] == number)
            return true;
    return false;
}

/*
 * The handler has crashed, or another thread while the handler ran. The process ends as it would without this handler,
 * with a core file.
 */
static void crashed(int number)
{
    char text[sizeof(before.what) + 32];

    snprintf(text, sizeof(text), "%s: killed by signal %d", before.what, number);
    ending_announce(text, before.ends);
    raise(number); /* is fatal when this function returns, since SA_RESETHAND has removed the handler */
}

/* slurmstepd or scrun exits while a handler runs: C code of the handler has called exit(), or a thread of Slurm. */
static void exits(void)
{
    char text[sizeof(before.what) + 64];

    if (before.process != getpid() || before.ends != ENDS_STEP)
        return;
    snprintf(text, sizeof(text), "exit() was called during %s", before.what);
    ending_announce(text, before.ends);
}

static void save_signals(void)
{
    /* The thread's own stack may have overflowed. Only one event runs at a time. */
    static char memory[STACK];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    const struct sigaction watch = {.sa_handler = crashed, .sa_flags = SA_ONSTACK | SA_RESETHAND};

    sigaltstack(&stack, &before.stack);
    for (int number = 1; number < SIGNALS; number++)
        sigaction(number, is_fatal(number) ? &watch : NULL, &before.actions[number]);
}

/*
 * RET whether a function belongs to Slurm's library or program. Other threads of Slurm may install theirs meanwhile:
 * scrun's anchor needs its own for SIGCHLD, or it never notices the end of its container.
 */
static bool is_slurms(void (*function)(int))
{
    const void *const places[] = {(void *)slurm_error, (void *)getauxval(AT_ENTRY)};
    Dl_info object, slurms;

    if (!dladdr((void *)function, &object))
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (dladdr(places[i], &slurms) && slurms.dli_fbase == object.dli_fbase)
            return true;
    return false;
}

/* RET whether the handler has changed a disposition. */
static bool restore_signals(void)
{
    bool changed = false;

    for (int number = 1; number < SIGNALS; number++) {
        const struct sigaction *former = &before.actions[number];
        struct sigaction current;
        if (is_fatal(number)) {
            sigaction(number, former, NULL);
        } else if (before.ends != ENDS_TASK && !sigaction(number, NULL, &current) &&
                   current.sa_handler != former->sa_handler && !is_slurms(current.sa_handler)) {
            sigaction(number, former, NULL);
            changed = true;
        }
    }
    sigaltstack(&before.stack, NULL);
    return changed;
}

static bool has_timer(void)
{
    struct itimerval timer;

    return !getitimer(ITIMER_REAL, &timer) && (timer.it_value.tv_sec || timer.it_value.tv_usec);
}

/*
 * Stop a timer that would kill the process later; not in scrun, which handles the signal and has a timer of slurmhooks.
 */
static bool restore_timer(void)
{
    const struct itimerval none = {0};

    if (before.has_timer || before.actions[SIGALRM].sa_handler != SIG_DFL || !has_timer())
        return false;
    setitimer(ITIMER_REAL, &none, NULL);
    return true;
}

/* Slurm reads and writes numbers in its own locale. */
static bool restore_locale(void)
{
    const char *current = setlocale(LC_ALL, NULL);

    return current && strcmp(current, before.locale) && setlocale(LC_ALL, before.locale);
}

/* slurmstepd hangs if its effective user has changed, for example between two calls of os.seteuid(). */
static bool restore_user(void)
{
    char text[sizeof(before.what) + 64];

    if (geteuid() == before.uid && getegid() == before.gid)
        return false;
    if (!seteuid(before.uid) && !setegid(before.gid))
        return true;
    if (before.ends != ENDS_STEP)
        return false;
    snprintf(text, sizeof(text), "%s has permanently changed the user of its process", before.what);
    ending_announce(text, before.ends);
    _exit(1);
}

static void look_at_descriptors(struct pollfd *descriptors)
{
    for (int i = 0; i < DESCRIPTORS; i++)
        descriptors[i] = (struct pollfd){.fd = i};
    poll(descriptors, DESCRIPTORS, 0);
}

/* RET how many of these descriptors the handler has closed if it has closed all that were open, else 0. */
static int lost_descriptors(const struct pollfd *now, int first, int count)
{
    int lost = 0;

    for (int i = first; i < first + count; i++) {
        bool was_open = !(before.descriptors[i].revents & POLLNVAL);
        if (was_open && !(now[i].revents & POLLNVAL))
            return 0;
        lost += was_open;
    }
    return lost;
}

/* End the process if the handler has closed all its descriptors: without them it would wait forever. */
static void check_descriptors(void)
{
    struct pollfd now[DESCRIPTORS];
    const int standard = STDERR_FILENO + 1;
    int opened;

    look_at_descriptors(now);
    if (!lost_descriptors(now, 0, DESCRIPTORS) && lost_descriptors(now, standard, DESCRIPTORS - standard) < MANY)
        return;
    /* Descriptors that are opened from here on must not become standard streams of scancel. */
    do
        opened = open("/dev/null", O_RDWR);
    while (opened >= 0 && opened < STDERR_FILENO);
    char text[sizeof(before.what) + 64];
    snprintf(text, sizeof(text), "%s has closed the descriptors of its process", before.what);
    /* The descriptor of Slurm's log is among the closed ones. */
    closelog();
    slurmhooks_syslog(text);
    ending_announce(text, before.ends);
    _exit(1);
}

void guard_describe(const char *what)
{
    snprintf(before.what, sizeof(before.what), "%s", what);
}

void guard_begin(const char *what, enum ends ends)
{
    const char *locale = setlocale(LC_ALL, NULL);

    before.process = getpid();
    before.ends = ends;
    guard_describe(what);
    save_signals();
    if (ends == ENDS_TASK)
        return;
    before.has_timer = has_timer();
    snprintf(before.locale, sizeof(before.locale), "%s", locale ? locale : "C");
    before.uid = geteuid();
    before.gid = getegid();
    look_at_descriptors(before.descriptors);
}

const char *guard_end(void)
{
    static char text[128];

    if (!before.process)
        return NULL;
    if (fork_is_handlers()) {
        log_error("%s has forked and its child came back, which ends here: have it call os._exit()", before.what);
        _exit(1);
    }
    bool ours = before.process == getpid(); /* not after the crash of a clone that shares this memory */
    before.process = 0;
    if (!ours)
        return NULL;
    bool signals = restore_signals();
    if (before.ends == ENDS_TASK)
        return NULL;
    check_descriptors();
    bool timer = restore_timer(), locale = restore_locale(), user = restore_user();
    snprintf(text, sizeof(text), "%s%s%s%s", signals ? ", signal handlers" : "", timer ? ", a timer" : "",
             locale ? ", the locale" : "", user ? ", the effective user" : "");
    return *text ? text + 2 : NULL;
}

/*
 * os._exit(status): exits only in a process that a handler has forked. Elsewhere a task or command could seem to
 * succeed.
 */
static PyObject *leave(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"status", NULL};
    int status;

    (void)self;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "i:_exit", names, &status))
        return NULL;
    if (fork_is_handlers())
        _exit(status);
    PyErr_Format(PyExc_SystemExit, "os._exit(%d): a handler must not end its process, which is Slurm's", status);
    return NULL;
}

int guard_install(void)
{
    static PyMethodDef method = {"_exit", (PyCFunction)(void (*)(void))leave, METH_VARARGS | METH_KEYWORDS,
                                 "Exit at once, in a process that a handler has forked."};
    static int watched;
    PyObject *py_function = PyCFunction_New(&method, NULL);
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    static const char *const names[] = {"posix", "os"};
    int rc = py_function ? 0 : -1;

    if (!watched)
        watched = !atexit(exits);
    for (size_t i = 0; !rc && i < sizeof(names) / sizeof(names[0]); i++) {
        PyObject *module = PyDict_GetItemString(modules, names[i]); /* borrowed */
        rc = module ? PyObject_SetAttrString(module, "_exit", py_function) : 0;
    }
    Py_XDECREF(py_function);
    return rc;
}
