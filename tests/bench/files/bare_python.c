/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floor for whoever embeds this CPython: an isolated interpreter without site, started, in which nothing runs, or
 * the code that is given.
 */
#include <Python.h>

#include <unistd.h>

int main(int argc, char *argv[])
{
    PyConfig config;

    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    PyStatus status = Py_InitializeFromConfig(&config);
    int failed = PyStatus_Exception(status) || (argc > 1 && PyRun_SimpleString(argv[1]));
    /* Plugins do not finalise it either. */
    _exit(failed);
}
