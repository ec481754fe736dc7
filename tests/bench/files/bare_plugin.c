/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The minimum cost of calling Python in each task of slurmstepd: an isolated interpreter without site, started before
 * the tasks are forked; each task calls one function, and C sets the variable.
 */
#include <Python.h>

#include <pthread.h>
#include <slurm/spank.h>

SPANK_PLUGIN(bare_plugin, 1)

static PyObject *function;

int slurm_spank_init(spank_t handle, int argc, char *argv[])
{
    PyConfig config;

    (void)handle, (void)argc, (void)argv;
    if (spank_context() != S_CTX_REMOTE)
        return 0;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.install_signal_handlers = 0;
    if (PyStatus_Exception(Py_InitializeFromConfig(&config)))
        return -1;
    PyRun_SimpleString("def task(environment):\n    environment['BENCH'] = '1'\n");
    function = PyObject_GetAttrString(PyImport_AddModule("__main__"), "task");
    return function ? pthread_atfork(PyOS_BeforeFork, PyOS_AfterFork_Parent, PyOS_AfterFork_Child) : -1;
}

int slurm_spank_task_init(spank_t handle, int argc, char *argv[])
{
    (void)argc, (void)argv;
    if (!PyObject_CallFunction(function, "(N)", PyDict_New()))
        return -1;
    return spank_setenv(handle, "BENCH", "1", 1);
}
