/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "embed/interpreter.h"

#include <Python.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build_config.h"
#include "embed/compile.h"
#include "embed/deadline.h"
#include "embed/fork.h"
#include "embed/frozen.h"
#include "log.h"

/* The address space in bytes that Python needs to be started. Python, slurmhooks and its imports take 35 MiB. */
#define MEMORY (64 << 20)

/* Find the directory of this library, which also holds the compiled modules. RET 0 or -1. */
static int own_directory(char *buffer, size_t size)
{
    Dl_info info;

    if (!dladdr((void *)own_directory, &info) || !info.dli_fname)
        return -1;
    const char *slash = strrchr(info.dli_fname, '/');
    if (!slash || (size_t)(slash - info.dli_fname) >= size)
        return -1;
    memcpy(buffer, info.dli_fname, slash - info.dli_fname);
    buffer[slash - info.dli_fname] = '\0';
    return 0;
}

static PyStatus append_path(PyConfig *config, const char *path)
{
    wchar_t *wide = Py_DecodeLocale(path, NULL);

    if (!wide)
        return PyStatus_NoMemory();
    PyStatus status = PyWideStringList_Append(&config->module_search_paths, wide);
    PyMem_RawFree(wide);
    return status;
}

/* Fill the configuration with what the build has recorded about this Python. */
static PyStatus fill(PyConfig *config, const char *directory)
{
    static const char *const paths[] = {SLURMHOOKS_PYTHON_PATHS NULL};
    const struct {
        wchar_t **member;
        const char *value;
    } strings[] = {
        /* CPython would follow the links of another name; finish_paths() sets the name of the virtual environment. */
        {&config->program_name, SLURMHOOKS_PYTHON_REAL},
        {&config->executable, SLURMHOOKS_PYTHON_REAL},
        {&config->base_executable, SLURMHOOKS_PYTHON_REAL},
        /* Otherwise CPython looks for pyvenv.cfg and for the files of its own build. */
        {&config->home, SLURMHOOKS_PYTHON_BASE_PREFIX},
        {&config->base_prefix, SLURMHOOKS_PYTHON_BASE_PREFIX},
        {&config->base_exec_prefix, SLURMHOOKS_PYTHON_BASE_PREFIX},
    };
    PyStatus status;

    /* The site module would search the machine for paths that are known from the build. */
    config->site_import = 0;
    /* Python may run as root here, and must write no .pyc files into a site's directories. */
    config->write_bytecode = 0;
    config->install_signal_handlers = 0;
    config->pathconfig_warnings = 0;
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        status = PyConfig_SetBytesString(config, strings[i].member, strings[i].value);
        if (PyStatus_Exception(status))
            return status;
    }
    config->module_search_paths_set = 1;
    /* First, so that a launch finds the compiled modules without listing the folders of the standard library. */
    status = append_path(config, directory);
    for (size_t i = 0; !PyStatus_Exception(status) && paths[i]; i++)
        status = append_path(config, paths[i]);
    return status;
}

static void log_failed_start(PyStatus status, const char *directory)
{
    static const char *const paths[] = {SLURMHOOKS_PYTHON_PATHS NULL};

    log_error("Python %s (%s) did not start: %s%s%s", PY_VERSION, SLURMHOOKS_PYTHON_EXECUTABLE,
              status.func ? status.func : "", status.func ? ": " : "",
              status.err_msg ? status.err_msg : "it requested an exit without giving a reason");
    for (size_t i = 0; paths[i]; i++)
        log_error("  search path: %s", paths[i]);
    log_error("  search path: %s", directory);
    log_error("  if this Python was moved or upgraded, run 'slurmhooks build' and 'slurmhooks install' again");
}

/*
 * Set the paths that PyConfig cannot set. Its `home` replaces the prefixes, and the environment variable
 * PYTHONEXECUTABLE its `executable`, even in an isolated configuration (Modules/getpath.py); and it has no member for
 * the sources of the modules that are frozen into libpython, such as os.
 */
static void finish_paths(void)
{
    static const char *const paths[][2] = {
        {"executable", SLURMHOOKS_PYTHON_EXECUTABLE}, {"_base_executable", SLURMHOOKS_PYTHON_EXECUTABLE},
        {"prefix", SLURMHOOKS_PYTHON_PREFIX},         {"exec_prefix", SLURMHOOKS_PYTHON_PREFIX},
        {"_stdlib_dir", SLURMHOOKS_PYTHON_STDLIB},
    };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        PyObject *py_path = PyUnicode_DecodeFSDefault(paths[i][1]);
        if (!py_path || PySys_SetObject(paths[i][0], py_path))
            PyErr_Clear();
        Py_XDECREF(py_path);
    }
}

/* Set a value of sys._xoptions, as -X NAME=PATH does. RET 0 or -1. */
static int set_option(const char *name, const char *path)
{
    PyObject *py_options = PySys_GetObject("_xoptions"); /* borrowed */
    PyObject *py_path = py_options ? PyUnicode_DecodeFSDefault(path) : NULL;
    int rc = py_path ? PyDict_SetItemString(py_options, name, py_path) : -1;

    Py_XDECREF(py_path);
    PyErr_Clear();
    return rc;
}

/*
 * Tell slurmhooks/files the folder of slurm.conf, which is used if the environment has no SLURM_CONF, because Slurm's
 * own programs know the path from their build; and the folder of this library. RET 0 or -1.
 */
static int set_options(const char *directory)
{
    return set_option("slurmhooks_sysconfdir", SLURMHOOKS_SYSCONFDIR) || set_option("slurmhooks_plugins", directory)
               ? -1
               : 0;
}

/*
 * Let CPython import the modules that launches need from this library (native/frozen.py) instead of from files. They
 * are byte code of the Python of the build. Another minor release or a pre-release may not understand it, so it imports
 * from files. A Python whose standard library is missing also does so: its start then fails with that reason, which
 * frozen modules would hide until a handler imports something.
 */
static void freeze_modules(void)
{
    int final = PY_RELEASE_LEVEL == PY_RELEASE_LEVEL_FINAL && (Py_Version >> 4 & 0xf) == PY_RELEASE_LEVEL_FINAL;
    char source[4096];

    snprintf(source, sizeof(source), "%s/encodings/__init__.py", SLURMHOOKS_PYTHON_STDLIB);
    if (access(source, R_OK))
        return;
    if (PyImport_FrozenModules ||
        (Py_Version != PY_VERSION_HEX && !(final && Py_Version >> 16 == PY_VERSION_HEX >> 16)))
        return;
    PyImport_FrozenModules = slurmhooks_frozen_modules;
}

static PyStatus start_python(const char *directory)
{
    PyPreConfig preconfig;
    PyConfig config;

    PyPreConfig_InitIsolatedConfig(&preconfig);
    /* Text must not depend on the locale of srun's user. */
    preconfig.utf8_mode = 1;
#ifdef SLURMHOOKS_PYTHON_ALLOCATOR
    preconfig.allocator = SLURMHOOKS_PYTHON_ALLOCATOR;
#endif
    PyStatus status = Py_PreInitialize(&preconfig);
    if (PyStatus_Exception(status))
        return status;
    freeze_modules();
    PyConfig_InitIsolatedConfig(&config);
    status = fill(&config, directory);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        return status;
    finish_paths();
    if (set_options(directory) || deadline_install() || compile_install())
        return PyStatus_NoMemory();
    return status;
}

/* Use the interpreter that another plugin has started: extend its search path. RET 0 or -1. */
static int join_running(const char *directory)
{
    static const char *const paths[] = {SLURMHOOKS_PYTHON_PATHS NULL};
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *path = PySys_GetObject("path"); /* borrowed */
    int rc = path ? 0 : -1;

    for (size_t i = 0; !rc && (i == 0 || paths[i - 1]); i++) {
        PyObject *py_entry = PyUnicode_DecodeFSDefault(paths[i] ? paths[i] : directory);
        int in_path = py_entry ? PySequence_Contains(path, py_entry) : -1;
        if (in_path < 0 || (!in_path && PyList_Append(path, py_entry)))
            rc = -1;
        Py_XDECREF(py_entry);
    }
    if (!rc)
        rc = set_options(directory) || deadline_install() || compile_install();
    if (rc) {
        PyErr_Clear();
        log_error("cannot extend the search path of the Python that another plugin has started");
    }
    if (!rc)
        rc = fork_install();
    PyGILState_Release(gil);
    return rc;
}

/* Whether this library has started Python, rather than another plugin. */
static int started_here;

/*
 * Garbage collection is off until slurmhooks is loaded, and then ignores the objects that exist already. Loading leaves
 * no garbage, but creates enough objects for three full collections, which took a twentieth of the time of a launch.
 */
void interpreter_loaded(void)
{
    static int done;

    if (done || !started_here)
        return;
    done = 1;
    PyObject *py_gc = PyImport_ImportModule("gc");
    PyObject *py_none = py_gc ? PyObject_CallMethod(py_gc, "freeze", NULL) : NULL;
    Py_XDECREF(py_none);
    Py_XDECREF(py_gc);
    PyErr_Clear();
    PyGC_Enable();
}

/*
 * RET whether there is enough memory for Python, slurmhooks and some for handlers. If not, a launch fails with one
 * line. Without this check CPython 3.11, which needs memory to raise a MemoryError, may recurse until the stack
 * overflows.
 */
static int has_memory(void)
{
    void *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return 0;
    munmap(memory, MEMORY);
    return 1;
}

int interpreter_start(void)
{
    static enum { NOT_YET, RUNNING, FAILED } state = NOT_YET;
    char directory[4096];

    if (state == RUNNING)
        return 0;
    if (state == FAILED) {
        log_error("Python has already failed to start in this process: see the first error for the reason");
        return -1;
    }
    state = FAILED;
    if (own_directory(directory, sizeof(directory))) {
        log_error("cannot find out where libslurmhooks_core.so was loaded from");
        return -1;
    }
    if (Py_IsInitialized()) {
        if (join_running(directory))
            return -1;
        state = RUNNING;
        return 0;
    }
    if (!has_memory()) {
        log_error(
            "Python does not start: this process cannot get %d MiB of memory (%s); see its limits in /proc/%d/limits",
            MEMORY >> 20, strerror(errno), (int)getpid());
        return -1;
    }
    PyStatus status = start_python(directory);
    if (PyStatus_Exception(status)) {
        log_failed_start(status, directory);
        return -1;
    }
    if (gettid() != getpid())
        thread_state_fit_stack(PyThreadState_Get());
    if (fork_install()) {
        PyEval_SaveThread();
        return -1;
    }
    PyGC_Disable();
    PyEval_SaveThread();
    started_here = 1;
    state = RUNNING;
    return 0;
}
