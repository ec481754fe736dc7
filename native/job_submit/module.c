/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compiled module _slurmhooks_view. */
#include "view.h"

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_slurmhooks_view",
    .m_doc = "What job_submit does without a frame of Python.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__slurmhooks_view(void)
{
    static const struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {
        {"Field", &field_type},         {"Mapping", &mapping_type}, {"View", &view_type}, {"Request", &request_type},
        {"Variables", &variables_type}, {"Event", &event_type},     {"Lua", &lua_type},
    };
    PyObject *py_module = PyModule_Create(&module);

    for (size_t i = 0; py_module && i < sizeof(types) / sizeof(types[0]); i++)
        if (PyType_Ready(types[i].type) || PyModule_AddObjectRef(py_module, types[i].name, (PyObject *)types[i].type))
            Py_CLEAR(py_module);
    return py_module;
}
