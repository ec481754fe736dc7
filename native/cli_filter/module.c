/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python module _slurmhooks_cli_filter, with which slurmhooks.entry.cli_filter reads and sets options. Names and
 * values are bytes. Like the module for scrun, it does not use cffi, which takes longer to load than everything else
 * together.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurm.h>

#include "cli_filter/options.h"
#include "cli_filter/rehearsal.h"
#include "python/module.h"

/* Convert a text of Slurm, and free it. RET new: bytes, or None for NULL; or NULL with an exception. */
static PyObject *taken(char *value)
{
    if (!value)
        Py_RETURN_NONE;
    PyObject *py_text = slurmhooks_text(value);
    slurm_xfree((void **)&value);
    return py_text;
}

/* Add an item to a list or, with a key, to a dict. Takes over the references to both. RET 0, or -1 with an exception.
 */
static int add(PyObject *into, PyObject *py_key, PyObject *py_value)
{
    int rc = -1;

    if (py_key && py_value)
        rc = PyDict_Check(into) ? PyDict_SetItem(into, py_key, py_value) : PyList_Append(into, py_value);
    Py_XDECREF(py_key);
    Py_XDECREF(py_value);
    return rc;
}

/* Parse arguments: an address, then those of the format. RET the address, or NULL with an exception. */
static slurm_opt_t *parse(PyObject *arguments, const char *format, const char **name, const char **value, int *early)
{
    unsigned long long address;

    if (!PyArg_ParseTuple(arguments, format, &address, name, value, early))
        return NULL;
    if (!address)
        PyErr_SetString(PyExc_ValueError, "the address of the options is 0");
    return (slurm_opt_t *)(uintptr_t)address; /* NOLINT: the address comes from the plugin */
}

static PyObject *get(PyObject *self, PyObject *arguments)
{
    const char *name;
    slurm_opt_t *opt = parse(arguments, "Ky", &name, NULL, NULL);

    (void)self;
    return opt ? taken(slurm_option_get(opt, name)) : NULL;
}

static PyObject *assign(PyObject *self, PyObject *arguments)
{
    const char *name, *value;
    int early;
    slurm_opt_t *opt = parse(arguments, "Kyyp", &name, &value, &early);

    (void)self;
    return opt ? PyBool_FromLong(slurm_option_set(opt, name, value, early) == SLURM_SUCCESS) : NULL;
}

static PyObject *reset(PyObject *self, PyObject *arguments)
{
    const char *name;
    slurm_opt_t *opt = parse(arguments, "Ky", &name, NULL, NULL);

    (void)self;
    return opt ? PyBool_FromLong(slurm_option_reset(opt, name)) : NULL;
}

/* RET {plugin: {option: value or None}} */
static PyObject *spank(PyObject *self, PyObject *unused)
{
    char **plugins = NULL;
    size_t plugin_count = spank_get_plugin_names(&plugins);
    PyObject *py_plugins = PyDict_New();
    int failed = !py_plugins;

    (void)self;
    (void)unused;
    for (size_t i = 0; i < plugin_count; i++) {
        char **names = NULL;
        size_t count = spank_get_plugin_option_names(plugins[i], &names);
        PyObject *py_options = failed ? NULL : PyDict_New();
        failed |= !py_options;
        for (size_t j = 0; j < count; j++) {
            failed = failed || add(py_options, slurmhooks_text(names[j]), taken(spank_option_get(names[j])));
            slurm_xfree((void **)&names[j]);
        }
        slurm_xfree((void **)&names);
        if (failed)
            Py_XDECREF(py_options);
        else
            failed = add(py_plugins, slurmhooks_text(plugins[i]), py_options);
        slurm_xfree((void **)&plugins[i]);
    }
    slurm_xfree((void **)&plugins);
    if (failed)
        Py_CLEAR(py_plugins);
    return py_plugins;
}

/* RET the names of all options of the running command, with those of SPANK plugins. */
static PyObject *names(PyObject *self, PyObject *address)
{
    slurm_opt_t *opt = PyLong_AsVoidPtr(address);
    char *letters = NULL;

    (void)self;
    if (!opt)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "the address of the options is 0");
    PyObject *py_names = PyList_New(0);
    struct option *table = slurm_option_table_create(opt, &letters);
    for (struct option *option = table; py_names && option && option->name; option++)
        if (add(py_names, Py_NewRef(Py_None), slurmhooks_text(option->name)))
            Py_CLEAR(py_names);
    slurm_option_table_destroy(table);
    slurm_xfree((void **)&letters);
    return py_names;
}

/* RET [(name, value or None), ...] of the options that are set, in Slurm's order. */
static PyObject *given(PyObject *self, PyObject *address)
{
    slurm_opt_t *opt = PyLong_AsVoidPtr(address);
    char *name = NULL, *value = NULL;
    size_t state = 0;

    (void)self;
    if (!opt)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "the address of the options is 0");
    PyObject *py_given = PyList_New(0);
    while (py_given && slurm_option_get_next_set(opt, &name, &value, &state))
        if (add(py_given, Py_NewRef(Py_None), Py_BuildValue("(NN)", taken(name), taken(value))))
            Py_CLEAR(py_given);
    return py_given;
}

/* RET getopt's optind: the first word that is not an option, in the part of the command line that was read last. */
static PyObject *first_word(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyLong_FromLong(optind);
}

static PyObject *get_variable(PyObject *self, PyObject *name)
{
    const char *bytes = PyBytes_AsString(name);

    (void)self;
    return bytes ? slurmhooks_text(getenv(bytes)) : NULL;
}

static PyObject *set_variable(PyObject *self, PyObject *arguments)
{
    const char *name;
    PyObject *py_value;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "yO", &name, &py_value))
        return NULL;
    const char *value = py_value == Py_None ? NULL : PyBytes_AsString(py_value);
    if (!value && py_value != Py_None)
        return NULL;
    if (value ? setenv(name, value, 1) : unsetenv(name))
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *variables(PyObject *self, PyObject *unused)
{
    PyObject *py_variables = PyList_New(0);

    (void)self;
    (void)unused;
    for (char **entry = environ; py_variables && entry && *entry; entry++)
        if (add(py_variables, Py_NewRef(Py_None), slurmhooks_text(*entry)))
            Py_CLEAR(py_variables);
    return py_variables;
}

static PyMethodDef methods[] = {
    {"get", get, METH_VARARGS, "Return the text of an option, or None."},
    {"assign", assign, METH_VARARGS, "Set an option; tell whether Slurm took the text."},
    {"reset", reset, METH_VARARGS, "Reset an option to its default; tell whether Slurm knows the option."},
    {"rehearse", rehearse, METH_VARARGS, "Try writes in a forked child."},
    {"names", names, METH_O, "Return the long options of the command."},
    {"given", given, METH_O, "Return names and texts of the options that are set."},
    {"spank", spank, METH_NOARGS, "Return the options of SPANK plugins."},
    {"first_word", first_word, METH_NOARGS, "Return getopt's optind."},
    {"get_variable", get_variable, METH_O, "Return a variable of the environment, or None."},
    {"set_variable", set_variable, METH_VARARGS, "Set a variable of the environment, or with None delete it."},
    {"variables", variables, METH_NOARGS, "Return the entries of the environment."},
    LOG_METHODS,
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_slurmhooks_cli_filter",
    .m_doc = "What filters of command lines ask of Slurm.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__slurmhooks_cli_filter(void)
{
    PyObject *py_module = PyModule_Create(&module);
    PyObject *py_release =
        Py_BuildValue("(ii)", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));

    if (py_module && PyModule_AddObjectRef(py_module, "RELEASE", py_release))
        Py_CLEAR(py_module);
    Py_XDECREF(py_release);
    return py_module;
}
