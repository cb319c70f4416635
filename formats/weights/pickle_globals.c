// Lists the constructors that a state dict may name and builds their values; nothing else can be
// called.  torch/_utils.py and torch/storage.py (PyTorch 1.13) define the orders of arguments.
// NumPy scalars, Namespace and paths occur because training scripts save them with the weights.
#include "formats/weights/pickle_globals.h"

#include <string.h>

#include "base/compiler.h"
#include "formats/weights/pickle_value.h"

typedef enum {
    AS_TENSOR,    // (storage, offset, sizes, strides, ...)
    AS_PARAMETER, // (tensor, ...)
    AS_DICT,      // (), or (pairs) of an OrderedDict
    AS_LIST,      // (items)
    AS_TEXT,      // (text, ...), joined by nothing: device('cpu'), Path('a', 'b')
    AS_FIRST,     // the first argument
    AS_BYTES,     // (text, 'latin1'): how protocol 2 spells bytes
    AS_SCALAR,    // (dtype, bytes) of NumPy
    IS_STORAGE,   // a type, never called
    IS_NAME,      // a constant, never called: torch.float32
} Meaning;

struct SrPickleGlobal {
    const char *module, *name;
    Meaning meaning;
    SrDtype dtype; // element type, for IS_STORAGE
};

// clang-format off
static const SrPickleGlobal globals[] = {
    {"torch._utils", "_rebuild_tensor_v2", AS_TENSOR, 0},
    {"torch._utils", "_rebuild_tensor", AS_TENSOR, 0},
    {"torch._utils", "_rebuild_parameter", AS_PARAMETER, 0},
    {"torch._utils", "_rebuild_parameter_with_state", AS_PARAMETER, 0},
    {"collections", "OrderedDict", AS_DICT, 0},
    {"collections", "defaultdict", AS_DICT, 0},
    {"argparse", "Namespace", AS_DICT, 0},
    {"torch", "FloatStorage", IS_STORAGE, SR_F32},
    {"torch", "DoubleStorage", IS_STORAGE, SR_F64},
    {"torch", "HalfStorage", IS_STORAGE, SR_F16},
    {"torch", "BFloat16Storage", IS_STORAGE, SR_BF16},
    {"torch", "CharStorage", IS_STORAGE, SR_I8},
    {"torch", "ShortStorage", IS_STORAGE, SR_I16},
    {"torch", "IntStorage", IS_STORAGE, SR_I32},
    {"torch", "LongStorage", IS_STORAGE, SR_I64},
    {"torch", "ByteStorage", IS_STORAGE, SR_U8},
    {"torch", "BoolStorage", IS_STORAGE, SR_BOOL},
    {"torch.storage", "UntypedStorage", IS_STORAGE, SR_U8},
    {"torch", "Size", AS_FIRST, 0},
    {"torch", "device", AS_TEXT, 0},
    {"torch", "float32", IS_NAME, 0},
    {"torch", "float64", IS_NAME, 0},
    {"torch", "float16", IS_NAME, 0},
    {"torch", "bfloat16", IS_NAME, 0},
    {"torch", "int64", IS_NAME, 0},
    {"torch", "int32", IS_NAME, 0},
    {"torch", "uint8", IS_NAME, 0},
    {"torch", "bool", IS_NAME, 0},
    {"pathlib", "PosixPath", AS_TEXT, 0},
    {"_codecs", "encode", AS_BYTES, 0},
    {"numpy", "dtype", AS_TEXT, 0},
    {"numpy.core.multiarray", "scalar", AS_SCALAR, 0},
    {"numpy._core.multiarray", "scalar", AS_SCALAR, 0},
    {"__builtin__", "set", AS_LIST, 0},
    {"builtins", "set", AS_LIST, 0},
    {"__builtin__", "dict", IS_NAME, 0}, // the factory of a defaultdict
    {"builtins", "dict", IS_NAME, 0},
    {"builtins", "int", IS_NAME, 0},
    {"builtins", "float", IS_NAME, 0},
    {"builtins", "list", IS_NAME, 0},
};
// clang-format on

SrStatus sr__pickle_global(const SrPickle *p, const char *module, const char *name,
                           const SrPickleGlobal **out) {
    for (int i = 0; i < SR_COUNT(globals); i++) {
        if (strcmp(globals[i].module, module) != 0 || strcmp(globals[i].name, name) != 0)
            continue;
        *out = &globals[i];
        return SR_OK;
    }
    SR_FAIL(SR_ERR_CONFIG,
            "%s: its pickle uses '%.120s.%.120s', which no state dict needs, so sslrun refuses the "
            "file and has executed nothing; save model.state_dict() alone",
            p->path, module, name);
}

const char *sr_pickle_global_name(const SrPickleGlobal *global) { return global->name; }

static SrStatus bad(const SrPickle *p, const char *what) {
    SR_FAIL(SR_ERR_CONFIG, "%s: damaged pickle: %s", p->path, what);
}

// Copies a list of integers to out and returns their number; -1: no such list, or too many.
static int read_ints(const SrPickleValue *list, int64_t out[SR_MAX_RANK]) {
    if (list->kind != SR_PICKLE_LIST || list->n > SR_MAX_RANK)
        return -1;
    for (int i = 0; i < list->n; i++) {
        if (list->items[i]->kind != SR_PICKLE_INT)
            return -1;
        out[i] = list->items[i]->i;
    }
    return list->n;
}

static SrStatus make_tensor(SrPickle *p, const SrPickleValue *args, SrPickleValue **out) {
    if (args->n < 4 || args->items[0]->kind != SR_PICKLE_STORAGE ||
        args->items[1]->kind != SR_PICKLE_INT)
        return bad(p, "a tensor has no storage or no offset");
    SrPickleTensor *t = sr__pickle_take(p, sizeof *t);
    *out = t ? sr__pickle_new(p, SR_PICKLE_TENSOR) : NULL;
    if (!*out)
        return p->failure;
    t->storage = args->items[0];
    t->offset = args->items[1]->i;
    t->rank = read_ints(args->items[2], t->sizes);
    if (t->rank < 0 || read_ints(args->items[3], t->strides) != t->rank)
        return bad(p, "the sizes and strides of a tensor are not two lists of up to 6 numbers");
    (*out)->tensor = t;
    return SR_OK;
}

// Builds OrderedDict([[key, value], ...]) as old Pythons write it in protocol 2, or an empty one.
static SrStatus make_dict(SrPickle *p, const SrPickleGlobal *g, const SrPickleValue *args,
                          SrPickleValue **out) {
    *out = sr__pickle_new(p, SR_PICKLE_DICT);
    if (!*out)
        return p->failure;
    if (args->n == 0 || strcmp(g->name, "OrderedDict") != 0)
        return SR_OK;
    const SrPickleValue *pairs = args->items[0];
    for (int i = 0; pairs->kind == SR_PICKLE_LIST && i < pairs->n; i++) {
        const SrPickleValue *pair = pairs->items[i];
        if (pair->kind != SR_PICKLE_LIST || pair->n != 2)
            return bad(p, "an OrderedDict holds something other than pairs");
        SR_TRY(sr__pickle_push(p, *out, pair->items[0]));
        SR_TRY(sr__pickle_push(p, *out, pair->items[1]));
    }
    return SR_OK;
}

// Converts UTF-8 text of characters up to 255 to the bytes that they stand for.
static SrStatus make_bytes(SrPickle *p, const SrPickleValue *text, SrPickleValue **out) {
    if (!text || text->kind != SR_PICKLE_TEXT)
        return bad(p, "bytes are not valid text");
    char *bytes = sr__pickle_take(p, (size_t)text->n + 1);
    *out = bytes ? sr__pickle_new(p, SR_PICKLE_TEXT) : NULL;
    if (!*out)
        return p->failure;
    int n = 0;
    for (int i = 0; i < text->n; i++) {
        unsigned char c = (unsigned char)text->text[i];
        if ((c & 0xfe) == 0xc2 && i + 1 < text->n)
            c = (unsigned char)((c & 3) << 6 | ((unsigned char)text->text[++i] & 63));
        bytes[n++] = (char)c;
    }
    (*out)->text = bytes;
    (*out)->n = n;
    return SR_OK;
}

// Builds a NumPy scalar from its dtype name and little-endian bytes.
static SrStatus make_scalar(SrPickle *p, const SrPickleValue *args, SrPickleValue **out) {
    *out = sr__pickle_new(p, SR_PICKLE_NONE);
    if (!*out)
        return p->failure;
    if (args->n != 2 || args->items[0]->kind != SR_PICKLE_TEXT ||
        args->items[1]->kind != SR_PICKLE_TEXT)
        return SR_OK;
    const char *type = args->items[0]->text;
    const SrPickleValue *bytes = args->items[1];
    float f;
    if (strcmp(type, "f8") == 0 && bytes->n == 8) {
        (*out)->kind = SR_PICKLE_FLOAT;
        memcpy(&(*out)->f, bytes->text, 8);
    } else if (strcmp(type, "f4") == 0 && bytes->n == 4) {
        memcpy(&f, bytes->text, 4);
        (*out)->kind = SR_PICKLE_FLOAT;
        (*out)->f = (double)f;
    } else if (strcmp(type, "i8") == 0 && bytes->n == 8) {
        (*out)->kind = SR_PICKLE_INT;
        memcpy(&(*out)->i, bytes->text, 8);
    }
    return SR_OK;
}

SrStatus sr__pickle_call(SrPickle *p, const SrPickleValue *fn, SrPickleValue *args,
                         SrPickleValue **out) {
    const SrPickleGlobal *g = fn->global;
    SrPickleValue *first = args->n ? args->items[0] : NULL;
    switch (g->meaning) {
    case AS_TENSOR: return make_tensor(p, args, out);
    case AS_PARAMETER:
        if (!first || first->kind != SR_PICKLE_TENSOR)
            return bad(p, "a parameter has no tensor");
        *out = first;
        return SR_OK;
    case AS_DICT: return make_dict(p, g, args, out);
    case AS_LIST:
    case AS_TEXT:
    case AS_FIRST: *out = first ? first : args; return SR_OK;
    case AS_BYTES: return make_bytes(p, first, out);
    case AS_SCALAR: return make_scalar(p, args, out);
    default: return bad(p, "it calls a type that is not a function");
    }
}

static SrStatus remember(SrPickle *p, SrPickleValue *storage) {
    SrPickleValue list = {
        .kind = SR_PICKLE_LIST, .n = p->n_storages, .cap = p->cap_storages, .items = p->storages};
    SR_TRY(sr__pickle_push(p, &list, storage));
    p->storages = list.items;
    p->n_storages = list.n;
    p->cap_storages = list.cap;
    return SR_OK;
}

// Reads torch.save's persistent id: ('storage', type, key, location, element count).  Tensors that
// share a storage repeat its key, and the container matches them by key.
SrStatus sr__pickle_storage(SrPickle *p, const SrPickleValue *id, SrPickleValue **out) {
    bool ok = id->kind == SR_PICKLE_LIST && id->n >= 5 && id->items[0]->kind == SR_PICKLE_TEXT &&
              strcmp(id->items[0]->text, "storage") == 0 && id->items[2]->kind == SR_PICKLE_TEXT &&
              id->items[4]->kind == SR_PICKLE_INT && id->items[4]->i >= 0;
    if (!ok || id->items[1]->kind != SR_PICKLE_GLOBAL ||
        id->items[1]->global->meaning != IS_STORAGE)
        return bad(p, "a persistent id is not a storage");
    if (id->n > 5 && id->items[5]->kind != SR_PICKLE_NONE)
        SR_FAIL(SR_ERR_CONFIG, "%s: views of storages (PyTorch before 0.4) are not supported",
                p->path);
    SrPickleStorage *s = sr__pickle_take(p, sizeof *s);
    *out = s ? sr__pickle_new(p, SR_PICKLE_STORAGE) : NULL;
    if (!*out)
        return p->failure;
    *s = (SrPickleStorage){
        .key = id->items[2]->text, .dtype = id->items[1]->global->dtype, .count = id->items[4]->i};
    (*out)->storage = s;
    return remember(p, *out);
}
