/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python module _slurmhooks_spank: the functions and constants of spank.h. A handle is the address of a spank_t.
 * Functions return Slurm's code; those with a result return (code, result), and None as result of a failure.
 */
#include "python/module.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>

/* Bytes of the buffer for a variable, which grows fourfold. */
#define FIRST_BUFFER 4096
#define LAST_BUFFER (1 << 28)

/* The result of spank_get_item(). */
union value {
    int32_t i32;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    char *text;
};

_Static_assert(sizeof(uid_t) == 4 && sizeof(gid_t) == 4 && sizeof(pid_t) == 4 && sizeof(int) == 4, "as to_python()");

/* For "O&" of PyArg_ParseTuple(). */
static int to_handle(PyObject *address, void *handle)
{
    *(spank_t *)handle = PyLong_AsVoidPtr(address);
    return !PyErr_Occurred();
}

/* RET new: (code, value). Takes over the reference to the value. */
static PyObject *answer(int code, PyObject *py_value)
{
    return Py_BuildValue("(iN)", code, py_value);
}

static PyObject *failure(int code)
{
    return answer(code, Py_NewRef(Py_None));
}

/* Convert the result of an item. IN ctype: as in slurmhooks/spank/fields.py. RET new, or NULL with an exception. */
static PyObject *to_python(const char *ctype, const union value *value)
{
    if (!strcmp(ctype, "char *"))
        return slurmhooks_text(value->text);
    if (!strcmp(ctype, "uint32_t") || !strcmp(ctype, "uid_t") || !strcmp(ctype, "gid_t"))
        return PyLong_FromUnsignedLong(value->u32);
    if (!strcmp(ctype, "int") || !strcmp(ctype, "pid_t"))
        return PyLong_FromLong(value->i32);
    if (!strcmp(ctype, "uint16_t"))
        return PyLong_FromUnsignedLong(value->u16);
    if (!strcmp(ctype, "uint64_t"))
        return PyLong_FromUnsignedLongLong(value->u64);
    return PyErr_Format(PyExc_ValueError, "no item has the type %s", ctype);
}

static PyObject *get_item(PyObject *self, PyObject *arguments)
{
    spank_t handle;
    int item;
    const char *ctype;
    union value value = {0};

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O&is", to_handle, &handle, &item, &ctype))
        return NULL;
    int code = spank_get_item(handle, (spank_item_t)item, &value);
    return code ? failure(code) : answer(code, to_python(ctype, &value));
}

static PyObject *convert_item(PyObject *self, PyObject *arguments)
{
    spank_t handle;
    int item;
    unsigned number;
    const char *ctype;
    union value value = {0};

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O&iIs", to_handle, &handle, &item, &number, &ctype))
        return NULL;
    int code = spank_get_item(handle, (spank_item_t)item, number, &value);
    return code ? failure(code) : answer(code, to_python(ctype, &value));
}

static PyObject *job_argv(PyObject *self, PyObject *address)
{
    spank_t handle;
    int count = 0;
    char **words = NULL;

    (void)self;
    if (!to_handle(address, &handle))
        return NULL;
    int code = spank_get_item(handle, S_JOB_ARGV, &count, &words);
    return code ? failure(code) : answer(code, slurmhooks_texts(words, count));
}

static PyObject *job_env(PyObject *self, PyObject *address)
{
    spank_t handle;
    char **entries = NULL;

    (void)self;
    if (!to_handle(address, &handle))
        return NULL;
    int code = spank_get_item(handle, S_JOB_ENV, &entries);
    return code ? failure(code) : answer(code, slurmhooks_texts(entries, -1));
}

static PyObject *job_gids(PyObject *self, PyObject *address)
{
    spank_t handle;
    gid_t *gids = NULL;
    int count = 0;

    (void)self;
    if (!to_handle(address, &handle))
        return NULL;
    int code = spank_get_item(handle, S_JOB_SUPPLEMENTARY_GIDS, &gids, &count);
    if (code)
        return failure(code);
    PyObject *py_gids = PyList_New(count);
    for (int i = 0; py_gids && i < count; i++) {
        PyObject *py_gid = PyLong_FromUnsignedLong(gids[i]);
        if (py_gid)
            PyList_SET_ITEM(py_gids, i, py_gid);
        else
            Py_CLEAR(py_gids);
    }
    return answer(code, py_gids);
}

/* Read a variable of any length. */
static PyObject *read_variable(PyObject *arguments, spank_err_t (*read)(spank_t, const char *, char *, int))
{
    spank_t handle;
    PyObject *py_name;
    char first[FIRST_BUFFER];
    char *buffer = first;
    int size = FIRST_BUFFER, code;

    if (!PyArg_ParseTuple(arguments, "O&S", to_handle, &handle, &py_name))
        return NULL;
    while ((code = read(handle, PyBytes_AS_STRING(py_name), buffer, size)) == ESPANK_NOSPACE && size < LAST_BUFFER) {
        size *= 4;
        char *larger = realloc(buffer == first ? NULL : buffer, (size_t)size);
        if (!larger)
            break;
        buffer = larger;
    }
    PyObject *py_answer = code ? failure(code) : answer(code, slurmhooks_text(buffer));
    if (buffer != first)
        free(buffer);
    return py_answer;
}

static PyObject *write_variable(PyObject *arguments, spank_err_t (*write)(spank_t, const char *, const char *, int))
{
    spank_t handle;
    PyObject *py_name, *py_value;
    int overwrite;

    if (!PyArg_ParseTuple(arguments, "O&SSi", to_handle, &handle, &py_name, &py_value, &overwrite))
        return NULL;
    return PyLong_FromLong(write(handle, PyBytes_AS_STRING(py_name), PyBytes_AS_STRING(py_value), overwrite));
}

static PyObject *unset_variable(PyObject *arguments, spank_err_t (*unset)(spank_t, const char *))
{
    spank_t handle;
    PyObject *py_name;

    if (!PyArg_ParseTuple(arguments, "O&S", to_handle, &handle, &py_name))
        return NULL;
    return PyLong_FromLong(unset(handle, PyBytes_AS_STRING(py_name)));
}

/* A method with the name of a function of spank.h. */
#define METHOD(name, kind)                                            \
    static PyObject *call_##name(PyObject *self, PyObject *arguments) \
    {                                                                 \
        (void)self;                                                   \
        return kind(arguments, name);                                 \
    }
METHOD(spank_getenv, read_variable)
METHOD(spank_setenv, write_variable)
METHOD(spank_unsetenv, unset_variable)
METHOD(spank_job_control_getenv, read_variable)
METHOD(spank_job_control_setenv, write_variable)
METHOD(spank_job_control_unsetenv, unset_variable)

static PyObject *call_spank_strerror(PyObject *self, PyObject *code)
{
    int number = (int)PyLong_AsLong(code);

    (void)self;
    return number == -1 && PyErr_Occurred() ? NULL : slurmhooks_text(spank_strerror((spank_err_t)number));
}

static PyObject *call_spank_symbol_supported(PyObject *self, PyObject *symbol)
{
    const char *name = PyBytes_AsString(symbol);

    (void)self;
    return name ? PyBool_FromLong(spank_symbol_supported(name) == 1) : NULL;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
static PyObject *call_spank_prepend_task_argv(PyObject *self, PyObject *arguments)
{
    spank_t handle;
    PyObject *py_words;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O&O!", to_handle, &handle, &PyList_Type, &py_words))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(py_words);
    const char **words = calloc((size_t)count + 1, sizeof(*words));
    if (!words)
        return PyErr_NoMemory();
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < count; i++)
        failed = !(words[i] = PyBytes_AsString(PyList_GET_ITEM(py_words, i)));
    PyObject *py_code = failed ? NULL : PyLong_FromLong(spank_prepend_task_argv(handle, (int)count, words));
    free(words);
    return py_code;
}
#endif

/* Slurm copies an option that is registered, but does not document that. So none is freed. */
struct kept {
    struct kept *next;
    struct spank_option option;
};

static char *copied(const char *text)
{
    return text ? strdup(text) : NULL;
}

static PyObject *call_spank_option_register(PyObject *self, PyObject *arguments)
{
    static struct kept *all;
    spank_t handle;
    const char *name, *arginfo, *usage;
    int has_arg, value;
    unsigned long long callback;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O&szsiiK", to_handle, &handle, &name, &arginfo, &usage, &has_arg, &value,
                          &callback))
        return NULL;
    struct kept *kept = malloc(sizeof(*kept));
    if (!kept)
        return PyErr_NoMemory();
    kept->option = (struct spank_option){
        .name = copied(name),
        .arginfo = copied(arginfo),
        .usage = copied(usage),
        .has_arg = has_arg,
        .val = value,
        .cb = (spank_opt_cb_f)(uintptr_t)callback, /* NOLINT: the address comes from the plugin */
    };
    kept->next = all;
    all = kept;
    if (!kept->option.name || !kept->option.usage || (arginfo && !kept->option.arginfo))
        return PyErr_NoMemory();
    return PyLong_FromLong(spank_option_register(handle, &kept->option));
}

static PyObject *call_spank_option_getopt(PyObject *self, PyObject *arguments)
{
    spank_t handle;
    PyObject *py_name;
    char *argument = NULL;
    int has_arg;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O&Si", to_handle, &handle, &py_name, &has_arg))
        return NULL;
    struct spank_option option = {.name = PyBytes_AS_STRING(py_name), .usage = (char *)"-", .has_arg = has_arg};
    int code = spank_option_getopt(handle, &option, &argument);
    return code ? failure(code) : answer(code, slurmhooks_text(argument));
}

static PyObject *text_at(PyObject *self, PyObject *address)
{
    const char *text = PyLong_AsVoidPtr(address);

    (void)self;
    return !text && PyErr_Occurred() ? NULL : slurmhooks_text(text);
}

static PyObject *texts_at(PyObject *self, PyObject *arguments)
{
    unsigned long long address;
    int count;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "Ki", &address, &count))
        return NULL;
    return slurmhooks_texts((char **)(uintptr_t)address, count); /* NOLINT: the address comes from the plugin */
}

#define SPANK(name, flags) {#name, call_##name, flags, "See spank.h."}

static PyMethodDef methods[] = {
    {"get_item", get_item, METH_VARARGS, "Return an item with one value, of a C type."},
    {"convert_item", convert_item, METH_VARARGS, "Return the number that an item has for another number."},
    {"job_argv", job_argv, METH_O, "Return S_JOB_ARGV."},
    {"job_env", job_env, METH_O, "Return S_JOB_ENV."},
    {"job_gids", job_gids, METH_O, "Return S_JOB_SUPPLEMENTARY_GIDS."},
    SPANK(spank_getenv, METH_VARARGS),
    SPANK(spank_setenv, METH_VARARGS),
    SPANK(spank_unsetenv, METH_VARARGS),
    SPANK(spank_job_control_getenv, METH_VARARGS),
    SPANK(spank_job_control_setenv, METH_VARARGS),
    SPANK(spank_job_control_unsetenv, METH_VARARGS),
    SPANK(spank_strerror, METH_O),
    SPANK(spank_symbol_supported, METH_O),
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    SPANK(spank_prepend_task_argv, METH_VARARGS),
#endif
    SPANK(spank_option_register, METH_VARARGS),
    SPANK(spank_option_getopt, METH_VARARGS),
    {"text_at", text_at, METH_O, "Return the text at an address; None for 0."},
    {"texts_at", texts_at, METH_VARARGS, "Return the texts of an array."},
    VARIABLE_METHODS,
    LOG_METHODS,
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "_slurmhooks_spank", .m_doc = "Functions and constants of spank.h.",
    .m_size = -1,          .m_methods = methods,
};

static const struct {
    const char *name;
    long value;
} constants[] = {
#include "spank_constants.h"
};

PyMODINIT_FUNC PyInit__slurmhooks_spank(void)
{
    PyObject *py_module = PyModule_Create(&module);

    for (size_t i = 0; py_module && i < sizeof(constants) / sizeof(constants[0]); i++)
        if (PyModule_AddIntConstant(py_module, constants[i].name, constants[i].value))
            Py_CLEAR(py_module);
    return py_module;
}
