/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The minimum cost of calling Python in forked children: forks COUNT children that become `true`, from a process
 * without Python, or from a process with an isolated interpreter in which each child first calls one function.
 */
#include <Python.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static PyObject *start(void)
{
    PyConfig config;

    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    if (PyStatus_Exception(Py_InitializeFromConfig(&config)))
        exit(2);
    PyRun_SimpleString("def task(environment):\n    environment['BENCH'] = '1'\n");
    return PyObject_GetAttrString(PyImport_AddModule("__main__"), "task");
}

static void child(PyObject *function)
{
    if (function) {
        PyOS_AfterFork_Child();
        if (!PyObject_CallFunction(function, "(N)", PyDict_New()))
            _exit(2);
    }
    execl("/bin/true", "true", (char *)NULL);
    _exit(2);
}

int main(int argc, char *argv[])
{
    if (argc != 3) {
        fprintf(stderr, "usage: bare_forks COUNT without|python\n");
        return 2;
    }
    int count = atoi(argv[1]), failed = 0, status;
    PyObject *function = strcmp(argv[2], "python") ? NULL : start();

    for (int i = 0; i < count; i++) {
        if (function)
            PyOS_BeforeFork();
        pid_t pid = fork();
        if (!pid)
            child(function);
        if (function)
            PyOS_AfterFork_Parent();
        failed |= pid < 0;
    }
    while (wait(&status) > 0)
        failed |= status != 0;
    _exit(failed);
}
