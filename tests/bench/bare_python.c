/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The floor for whoever embeds this CPython: an isolated interpreter without site, started, and nothing run in it. */
#include <Python.h>

#include <unistd.h>

int main(void)
{
    PyConfig config;

    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    PyStatus status = Py_InitializeFromConfig(&config);
    /* Plugins do not finalise it either. */
    _exit(PyStatus_Exception(status));
}
