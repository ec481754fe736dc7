/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The built-in compile() also takes syntax trees. To tell whether its argument is one, it first creates the 120 classes
 * of the module ast, which takes half as long as starting Python. The function of CPython that is used here does not.
 */
#include "embed/compile.h"

#include <Python.h>

/* compile_file(source, path) */
static PyObject *compile_file(PyObject *self, PyObject *arguments)
{
    PyObject *py_path;
    const char *source;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "yU", &source, &py_path))
        return NULL;
    return Py_CompileStringObject(source, py_path, Py_file_input, NULL, -1);
}

PyDoc_STRVAR(compile_doc, "Compile the content of a file, as the built-in compile() does.");

static PyMethodDef methods[] = {
    {"compile_file", compile_file, METH_VARARGS, compile_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_slurmhooks_compile",
    .m_size = -1,
    .m_methods = methods,
};

int compile_install(void)
{
    PyObject *py_module = PyModule_Create(&definition);
    PyObject *py_modules = PyImport_GetModuleDict(); /* borrowed */
    int rc = py_module ? PyDict_SetItemString(py_modules, definition.m_name, py_module) : -1;

    Py_XDECREF(py_module);
    return rc;
}
