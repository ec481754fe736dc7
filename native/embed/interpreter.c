/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "embed/interpreter.h"

#include <Python.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "build_config.h"
#include "embed/arena.h"
#include "embed/fork.h"
#include "embed/frozen.h"
#include "log.h"

/* The directory that holds this library: the compiled views of Slurm's structs lie beside it. */
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

static PyStatus fill(PyConfig *config, const char *directory)
{
    static const char *const paths[] = {SLURMHOOKS_PYTHON_PATHS NULL};
    const struct {
        wchar_t **member;
        const char *value;
    } strings[] = {
        {&config->program_name, SLURMHOOKS_PYTHON_EXECUTABLE},
        {&config->executable, SLURMHOOKS_PYTHON_EXECUTABLE},
        {&config->base_executable, SLURMHOOKS_PYTHON_EXECUTABLE},
        {&config->prefix, SLURMHOOKS_PYTHON_PREFIX},
        {&config->exec_prefix, SLURMHOOKS_PYTHON_PREFIX},
        {&config->base_prefix, SLURMHOOKS_PYTHON_BASE_PREFIX},
        {&config->base_exec_prefix, SLURMHOOKS_PYTHON_BASE_PREFIX},
    };
    PyStatus status;

    /* `site` would look at the machine to find what the build has fixed. */
    config->site_import = 0;
    /* Nothing that runs as root in a daemon leaves files in a site's directories. */
    config->write_bytecode = 0;
    config->install_signal_handlers = 0;
    config->pathconfig_warnings = 0;
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        status = PyConfig_SetBytesString(config, strings[i].member, strings[i].value);
        if (PyStatus_Exception(status))
            return status;
    }
    config->module_search_paths_set = 1;
    for (size_t i = 0; paths[i]; i++) {
        status = append_path(config, paths[i]);
        if (PyStatus_Exception(status))
            return status;
    }
    return append_path(config, directory);
}

static void log_failed_start(PyStatus status, const char *directory)
{
    static const char *const paths[] = {SLURMHOOKS_PYTHON_PATHS NULL};

    log_error("Python %s (%s) did not start: %s%s%s", PY_VERSION, SLURMHOOKS_PYTHON_EXECUTABLE,
              status.func ? status.func : "", status.func ? ": " : "",
              status.err_msg ? status.err_msg : "it asked to exit");
    for (size_t i = 0; paths[i]; i++)
        log_error("  search path: %s", paths[i]);
    log_error("  search path: %s", directory);
    log_error("  was this Python moved or upgraded? run 'slurmhooks build' and 'slurmhooks install' again");
}

/*
 * What PyConfig cannot say: PYTHONEXECUTABLE goes before its executable, even in an isolated configuration
 * (Modules/getpath.py), and where modules frozen into libpython, such as os, have their sources.
 */
static void finish_paths(void)
{
    static const char *const paths[][2] = {
        {"executable", SLURMHOOKS_PYTHON_EXECUTABLE},
        {"_base_executable", SLURMHOOKS_PYTHON_EXECUTABLE},
        {"_stdlib_dir", SLURMHOOKS_PYTHON_STDLIB},
    };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        PyObject *py_path = PyUnicode_DecodeFSDefault(paths[i][1]);
        if (!py_path || PySys_SetObject(paths[i][0], py_path))
            PyErr_Clear();
        Py_XDECREF(py_path);
    }
}

/*
 * Tell slurmhooks/site.py, as if by -X slurmhooks_sysconfdir=PATH, where slurm.conf is unless SLURM_CONF names it,
 * which few of Slurm's programs have: these know the path from their own build. RET 0, or -1.
 */
static int set_sysconfdir(void)
{
    PyObject *py_options = PySys_GetObject("_xoptions"); /* borrowed */
    PyObject *py_path = py_options ? PyUnicode_DecodeFSDefault(SLURMHOOKS_SYSCONFDIR) : NULL;
    int rc = py_path ? PyDict_SetItemString(py_options, "slurmhooks_sysconfdir", py_path) : -1;

    Py_XDECREF(py_path);
    PyErr_Clear();
    return rc;
}

/*
 * Have CPython import what launches need from this library (native/frozen.py) rather than from files. The Python of the
 * build has compiled it: another minor release, or one that is not final, may not be able to read it, and imports from
 * files. If the standard library is missing, CPython shall say so now, and not when a handler imports something.
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

static PyStatus initialize(const char *directory)
{
    PyPreConfig preconfig;
    PyConfig config;

    PyPreConfig_InitIsolatedConfig(&preconfig);
    /* The same text whatever locale the user of srun has. */
    preconfig.utf8_mode = 1;
#ifdef SLURMHOOKS_PYTHON_ALLOCATOR
    preconfig.allocator = SLURMHOOKS_PYTHON_ALLOCATOR;
#endif
    PyStatus status = Py_PreInitialize(&preconfig);
    if (PyStatus_Exception(status))
        return status;
    arena_install();
    freeze_modules();
    PyConfig_InitIsolatedConfig(&config);
    status = fill(&config, directory);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        return status;
    finish_paths();
    if (set_sysconfdir())
        return PyStatus_NoMemory();
    return status;
}

/* Another plugin has started Python before us: live in its interpreter. */
static int join_running(const char *directory)
{
    static const char *const paths[] = {SLURMHOOKS_PYTHON_PATHS NULL};
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *path = PySys_GetObject("path"); /* borrowed */
    int rc = path ? 0 : -1;

    for (size_t i = 0; !rc && (i == 0 || paths[i - 1]); i++) {
        PyObject *py_entry = PyUnicode_DecodeFSDefault(paths[i] ? paths[i] : directory);
        int known = py_entry ? PySequence_Contains(path, py_entry) : -1;
        if (known < 0 || (!known && PyList_Append(path, py_entry)))
            rc = -1;
        Py_XDECREF(py_entry);
    }
    if (!rc)
        rc = set_sysconfdir();
    if (rc) {
        PyErr_Clear();
        log_error("cannot extend the search path of the Python that another plugin has started");
    }
    if (!rc)
        rc = fork_install();
    PyGILState_Release(gil);
    return rc;
}

/* Whether it is this library that has started Python, which then runs as long as the process. */
static int ours;

/*
 * Garbage is looked for only now that slurmhooks is loaded, and among what is made from now on: before, there is none,
 * but enough objects to look through all of them three times, for a twentieth of a launch.
 */
void interpreter_loaded(void)
{
    static int done;

    if (done || !ours)
        return;
    done = 1;
    PyObject *py_gc = PyImport_ImportModule("gc");
    PyObject *py_none = py_gc ? PyObject_CallMethod(py_gc, "freeze", NULL) : NULL;
    Py_XDECREF(py_none);
    Py_XDECREF(py_gc);
    PyErr_Clear();
    PyGC_Enable();
}

int interpreter_start(void)
{
    static enum { NOT_YET, RUNNING, FAILED } state = NOT_YET;
    char directory[4096];

    if (state == RUNNING)
        return 0;
    if (state == FAILED) {
        log_error("Python did not start earlier in this process; see the first message");
        return -1;
    }
    state = FAILED;
    if (own_directory(directory, sizeof(directory))) {
        log_error("cannot tell where this library was loaded from");
        return -1;
    }
    if (Py_IsInitialized()) {
        if (join_running(directory))
            return -1;
        state = RUNNING;
        return 0;
    }
    PyStatus status = initialize(directory);
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
    ours = 1;
    state = RUNNING;
    return 0;
}
