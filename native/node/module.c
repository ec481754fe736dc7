/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python module _slurmhooks_node: asks slurmctld about nodes, drains and undrains one.
 *
 * slurm.h of this build has the layout of the structs. The functions are looked up when they are first needed: a
 * slurmstepd has them; slurmhooks_health opens Slurm's library, which a check of a healthy node never does.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "build_config.h"
#include "python/module.h"

static struct {
    __typeof__(slurm_load_node) *load;
    __typeof__(slurm_load_node_single) *load_single;
    __typeof__(slurm_free_node_info_msg) *release;
    __typeof__(slurm_init_update_node_msg) *prepare;
    __typeof__(slurm_update_node) *update;
    __typeof__(slurm_strerror) *explain;
} slurm;

/* Open the library of Slurm's commands: in the folder of the plugins, or where it was at build time. RET NULL: not
 * there. */
static void *open_library(void)
{
    Dl_info info;
    char path[4096];

    if (dladdr((void *)open_library, &info) && info.dli_fname) {
        const char *slash = strrchr(info.dli_fname, '/');
        int folder = slash ? (int)(slash - info.dli_fname) : 0;
        if (snprintf(path, sizeof(path), "%.*s/../libslurmfull.so", folder, info.dli_fname) < (int)sizeof(path)) {
            void *library = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
            if (library)
                return library;
        }
    }
    return *SLURMHOOKS_SLURM_LIBRARY ? dlopen(SLURMHOOKS_SLURM_LIBRARY, RTLD_LAZY | RTLD_GLOBAL) : NULL;
}

/* Find the functions of Slurm. RET 0, or -1 with an exception. */
static int find_functions(void)
{
    if (slurm.update)
        return 0;
    bool present = dlsym(RTLD_DEFAULT, "slurm_update_node") != NULL;
    void *library = present ? RTLD_DEFAULT : open_library();
    __typeof__(slurm_init) *start = NULL;
    if (present || library)
        start = (__typeof__(slurm_init) *)dlsym(library, "slurm_init");
    if (!start) {
        PyErr_SetString(PyExc_OSError,
                        "no libslurmfull.so of Slurm; build where Slurm is installed, and install again");
        return -1;
    }
    /* The slurmstepd of a prolog has read its configuration, but loaded no plugins for messages. */
    start(NULL);
#define FIND(member, name) slurm.member = (__typeof__(name) *)dlsym(library, #name)
    FIND(load, slurm_load_node);
    FIND(load_single, slurm_load_node_single);
    FIND(release, slurm_free_node_info_msg);
    FIND(prepare, slurm_init_update_node_msg);
    FIND(explain, slurm_strerror);
    FIND(update, slurm_update_node);
    if (slurm.load && slurm.load_single && slurm.release && slurm.prepare && slurm.explain && slurm.update)
        return 0;
    slurm.update = NULL;
    PyErr_SetString(PyExc_OSError, "Slurm's library lacks a function for nodes");
    return -1;
}

/* Raise OSError for the errno that a function of Slurm has left. RET NULL. */
static PyObject *failed(int code)
{
    PyErr_SetString(PyExc_OSError, slurm.explain(code));
    return NULL;
}

/* RET what jobs on the node are: "alloc" if they have all of it. */
static const char *load_of(uint32_t state)
{
    switch (state & NODE_STATE_BASE) {
    case NODE_STATE_ALLOCATED: return "alloc";
    case NODE_STATE_MIXED: return "mixed";
    case NODE_STATE_IDLE: return "idle";
    default: return "";
    }
}

static PyObject *node(PyObject *self, PyObject *arguments)
{
    node_info_msg_t *nodes = NULL;
    char *name;
    int rc;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "s", &name) || find_functions())
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = slurm.load_single(&nodes, name, SHOW_ALL | SHOW_MIXED);
    Py_END_ALLOW_THREADS if (rc) return failed(errno);
    if (!nodes->record_count || !nodes->node_array[0].name) {
        slurm.release(nodes);
        return failed(ESLURM_INVALID_NODE_NAME);
    }
    const node_info_t *record = &nodes->node_array[0];
    PyObject *py_reason = slurmhooks_text(record->reason);
    PyObject *py_node =
        Py_BuildValue("{sNsNsLsIsIss}", "reason", py_reason, "own", PyBool_FromLong(record->reason_uid == getuid()),
                      "time", (long long)record->reason_time, "state", (unsigned)record->node_state, "next_state",
                      (unsigned)record->next_state, "load", load_of(record->node_state));
    slurm.release(nodes);
    return py_node;
}

static PyObject *drained(PyObject *self, PyObject *arguments)
{
    node_info_msg_t *nodes = NULL;
    unsigned count = 0;
    int rc;

    (void)self;
    (void)arguments;
    if (find_functions())
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = slurm.load((time_t)0, &nodes, SHOW_ALL);
    Py_END_ALLOW_THREADS if (rc) return failed(errno);
    PyObject *py_list = PyList_New(0);
    for (uint32_t i = 0; py_list && i < nodes->record_count; i++) {
        const node_info_t *record = &nodes->node_array[i];
        if (!record->name)
            continue;
        /* A machine that is off is not sick: in a cloud, most of them are. */
        count += !(record->node_state & NODE_STATE_POWERED_DOWN);
        if (!(record->node_state & (NODE_STATE_DRAIN | NODE_STATE_FAIL)) || record->reason_uid != getuid() ||
            !record->reason)
            continue;
        PyObject *py_row = Py_BuildValue("(LINN)", (long long)record->reason_time, i, slurmhooks_text(record->name),
                                         slurmhooks_text(record->reason));
        if (!py_row || PyList_Append(py_list, py_row))
            Py_CLEAR(py_list);
        Py_XDECREF(py_row);
    }
    slurm.release(nodes);
    return py_list ? Py_BuildValue("(IN)", count, py_list) : NULL;
}

/* Change state and reason of a node. IN arguments: its name, and the reason as bytes; None: it stays. RET None, or NULL
 * with an exception. */
static PyObject *change(PyObject *arguments, uint32_t state)
{
    update_node_msg_t message;
    PyObject *py_reason;
    char *name, *reason = NULL;
    int rc;

    if (!PyArg_ParseTuple(arguments, "sO", &name, &py_reason) ||
        (py_reason != Py_None && PyBytes_AsStringAndSize(py_reason, &reason, NULL)) || find_functions())
        return NULL;
    slurm.prepare(&message);
    message.node_names = name;
    message.node_state = state;
    message.reason = reason;
    Py_BEGIN_ALLOW_THREADS rc = slurm.update(&message);
    Py_END_ALLOW_THREADS if (rc) return failed(errno);
    Py_RETURN_NONE;
}

static PyObject *drain(PyObject *self, PyObject *arguments)
{
    (void)self;
    return change(arguments, NODE_STATE_DRAIN);
}

static PyObject *fail(PyObject *self, PyObject *arguments)
{
    (void)self;
    return change(arguments, NODE_STATE_FAIL);
}

static PyObject *undrain(PyObject *self, PyObject *arguments)
{
    (void)self;
    return change(arguments, NODE_STATE_UNDRAIN);
}

static PyObject *die_with_parent(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"node", node, METH_VARARGS, "Return what slurmctld knows about a node."},
    {"drained", drained, METH_NOARGS, "Return the number of nodes, and the nodes that our user has drained."},
    {"drain", drain, METH_VARARGS, "Drain a node with a reason."},
    {"fail", fail, METH_VARARGS, "Set a node to FAIL with a reason."},
    {"undrain", undrain, METH_VARARGS, "Undrain a node; set a reason if it is not None."},
    {"die_with_parent", die_with_parent, METH_NOARGS, "End this process when the one that forked it has ended."},
    LOG_METHODS,
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "_slurmhooks_node", .m_doc = "Asks slurmctld about nodes, and drains them.",
    .m_size = -1,          .m_methods = methods,
};

PyMODINIT_FUNC PyInit__slurmhooks_node(void)
{
    return PyModule_Create(&module);
}
