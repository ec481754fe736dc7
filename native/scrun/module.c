/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python module _slurmhooks_scrun, with which slurmhooks.entry.scrun reads the arguments of scrun's calls, and
 * calls scrun and Slurm. Addresses are those of a struct slurmhooks_container.
 *
 * Unlike the module for SPANK, it does not use cffi: the module is small, and loading cffi would take a tenth of the
 * time that a container waits for Python.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "python/module.h"
#include "scrun/container.h"
#include "scrun/job.h"

/* RET the container at an address, or NULL with an exception. */
static struct slurmhooks_container *container_at(PyObject *address)
{
    struct slurmhooks_container *container = PyLong_AsVoidPtr(address);

    if (!container && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "the address of a container is not 0");
    return container;
}

static PyObject *values(PyObject *self, PyObject *address)
{
    const struct slurmhooks_container *container = container_at(address);

    (void)self;
    if (!container)
        return NULL;
    return Py_BuildValue("{sNsNsNsNsNsNsNsIsIsI}", "id", slurmhooks_text(container->id), "bundle",
                         slurmhooks_text(container->bundle), "orig_bundle", slurmhooks_text(container->orig_bundle),
                         "root_path", slurmhooks_text(container->root_path), "orig_root_path",
                         slurmhooks_text(container->orig_root_path), "spool_dir", slurmhooks_text(container->spool_dir),
                         "config_file", slurmhooks_text(container->config_file), "job_id", (unsigned)container->job_id,
                         "user_id", (unsigned)container->user_id, "group_id", (unsigned)container->group_id);
}

static PyObject *job_env(PyObject *self, PyObject *address)
{
    const struct slurmhooks_container *container = container_at(address);
    PyObject *py_list = container ? PyList_New(0) : NULL;

    (void)self;
    for (const char **entry = py_list ? container->job_env : NULL; entry && *entry; entry++) {
        PyObject *py_entry = slurmhooks_text(*entry);
        if (!py_entry || PyList_Append(py_list, py_entry)) {
            Py_XDECREF(py_entry);
            Py_CLEAR(py_list);
            break;
        }
        Py_DECREF(py_entry);
    }
    return py_list;
}

static PyObject *cancelled(PyObject *self, PyObject *address)
{
    const struct slurmhooks_container *container = container_at(address);

    (void)self;
    return container ? PyBool_FromLong(container->cancelled) : NULL;
}

static PyObject *ask(PyObject *self, PyObject *arguments)
{
    PyObject *py_address;
    const char *function, *argument;
    char *output = NULL;
    size_t length = 0;
    int status = 0, failed;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "Osy", &py_address, &function, &argument))
        return NULL;
    struct slurmhooks_container *container = container_at(py_address);
    if (!container)
        return NULL;
    Py_BEGIN_ALLOW_THREADS failed = container->ask(container, function, argument, &status, &output, &length);
    Py_END_ALLOW_THREADS PyObject *py_answer =
        Py_BuildValue("Niy#", PyBool_FromLong(failed), status, output ? output : "", (Py_ssize_t)(output ? length : 0));
    free(output);
    return py_answer;
}

static PyObject *job_ended(PyObject *self, PyObject *job_id)
{
    unsigned long job = PyLong_AsUnsignedLong(job_id);
    int over;

    (void)self;
    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS over = job_is_over((uint32_t)job);
    Py_END_ALLOW_THREADS return PyBool_FromLong(over);
}

static PyMethodDef methods[] = {
    {"values", values, METH_O, "Return the texts and numbers of a container, by name."},
    {"job_env", job_env, METH_O, "Return the entries of the job's environment; in stage_out there are none."},
    {"cancelled", cancelled, METH_O, "Tell whether scrun has called stage_out while stage_in is running."},
    {"ask", ask, METH_VARARGS, "Call a function of scrun; return whether it failed, its status and output."},
    {"job_is_over", job_ended, METH_O, "Tell whether a job has ended."},
    LOG_METHODS,
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "_slurmhooks_scrun", .m_doc = "Gives staging functions access to scrun and Slurm.",
    .m_size = -1,          .m_methods = methods,
};

PyMODINIT_FUNC PyInit__slurmhooks_scrun(void)
{
    return PyModule_Create(&module);
}
