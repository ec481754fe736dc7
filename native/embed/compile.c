/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The built-in compile() also takes syntax trees. To tell whether its argument is one, it first creates the 120 classes
 * of the module ast, which takes half as many instructions as the start of Python. The function of CPython that is used
 * here does not.
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

/* text_at(address) */
static PyObject *text_at(PyObject *self, PyObject *py_address)
{
    const char *text = PyLong_AsVoidPtr(py_address);

    (void)self;
    return PyErr_Occurred() ? NULL : PyBytes_FromString(text);
}

PyDoc_STRVAR(text_doc, "Return the text at an address.");
PyDoc_STRVAR(compile_doc, "Compile the content of a file, as the built-in compile() does.");

static PyMethodDef methods[] = {
    {"compile_file", compile_file, METH_VARARGS, compile_doc},
    {"text_at", text_at, METH_O, text_doc},
    {NULL, NULL, 0, NULL},
};

int compile_install(void)
{
    PyObject *py_module = PyImport_AddModule("_slurmhooks_compile"); /* borrowed */

    return py_module ? PyModule_AddFunctions(py_module, methods) : -1;
}
