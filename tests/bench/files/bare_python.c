/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The minimum cost of embedding this CPython: start an isolated interpreter without site, and run nothing, or the given
 * code.
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
    /* The interpreter is not finalized, as in the plugins. */
    _exit(failed);
}
