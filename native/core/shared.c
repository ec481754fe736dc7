/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The module _slurmhooks_core, and what slurmstepd does before it forks many tasks. Each fork copies the table of the
 * pages that its parent has, and a page at the first write; and CPython writes to an object, to count the references to
 * it, whenever it reads it.
 */
#include <Python.h>

#include "interpreter.h"
#include "tasks.h"
#include "writes.h"

#if PY_VERSION_HEX < 0x030c0000 || defined(Py_GIL_DISABLED)
/* This CPython counts for everything. */
static void stop_counting(void)
{
}
#else
#ifdef _Py_IMMORTAL_REFCNT
#define UNCOUNTED _Py_IMMORTAL_REFCNT
#else
#define UNCOUNTED _Py_IMMORTAL_INITIAL_REFCNT
#endif

static int stop_counting_one(PyObject *object, void *unused)
{
    if (!object || _Py_IsImmortal(object))
        return 0;
    Py_SET_REFCNT(object, UNCOUNTED);
    /* The collector of garbage does not ask code for what it refers to. */
    if (PyCode_Check(object)) {
        PyCodeObject *code = (PyCodeObject *)object;
        PyObject *const parts[] = {code->co_consts,   code->co_names, code->co_localsplusnames,
                                   code->co_filename, code->co_name,  code->co_qualname};
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            stop_counting_one(parts[i], unused);
    }
    /* All that the collector knows has a turn of its own; what it has forgotten, such as a tuple of numbers, has not.
     */
    if (PyObject_IS_GC(object) && !PyObject_GC_IsTracked(object) && Py_TYPE(object)->tp_traverse)
        return Py_TYPE(object)->tp_traverse(object, stop_counting_one, unused);
    return 0;
}

static int stop_counting_tracked(PyObject *object, void *unused)
{
    stop_counting_one(object, unused);
    if (Py_TYPE(object)->tp_traverse)
        Py_TYPE(object)->tp_traverse(object, stop_counting_one, unused);
    return 1;
}

static void stop_counting(void)
{
    PyUnstable_GC_VisitObjects(stop_counting_tracked, NULL);
}
#endif

static PyObject *share(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    stop_counting();
    Py_RETURN_NONE;
}

static PyObject *gather(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    task_memory_begin();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"gather", gather, METH_NOARGS, "Put what is made from now on side by side: tasks will write to it."},
    {"share", share, METH_NOARGS, "Make forks cheap: what there is now stays until the process ends."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "_slurmhooks_core", .m_doc = "What Python may ask of the library that started it.",
    .m_size = -1,          .m_methods = methods,
};

PyObject *shared_module(void)
{
    PyObject *py_module = PyModule_Create(&module);

    if (py_module && (PyModule_AddType(py_module, &tasks_type) || PyModule_AddType(py_module, &writes_type)))
        Py_CLEAR(py_module);
    return py_module;
}
