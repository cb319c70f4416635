// Interprets pickle opcodes with a stack, marks and a memo.  formats/weights/pickle_globals.c holds
// the constructors.
#include "formats/weights/pickle.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "formats/weights/pickle_globals.h"

enum {
    MAX_STACK = 1 << 20, // values on the stack, and values in the memo
    MAX_MARKS = 1024,
    MAX_NAME = 128, // bytes in the name of a module or a global
};

// Opcodes, named as Python's pickletools names them.
enum {
    MARK = '(',
    STOP = '.',
    POP = '0',
    POP_MARK = '1',
    DUP = '2',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    NONE = 'N',
    BINPERSID = 'Q',
    REDUCE = 'R',
    BINSTRING = 'T',
    SHORT_BINSTRING = 'U',
    BINUNICODE = 'X',
    BINBYTES = 'B',
    SHORT_BINBYTES = 'C',
    APPEND = 'a',
    BUILD = 'b',
    GLOBAL = 'c',
    DICT = 'd',
    EMPTY_DICT = '}',
    APPENDS = 'e',
    BINGET = 'h',
    LONG_BINGET = 'j',
    LIST = 'l',
    EMPTY_LIST = ']',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    SETITEM = 's',
    TUPLE = 't',
    EMPTY_TUPLE = ')',
    SETITEMS = 'u',
    BINFLOAT = 'G',
    PROTO = 0x80,
    NEWOBJ = 0x81,
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    LONG1 = 0x8a,
    LONG4 = 0x8b,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE8 = 0x8d,
    BINBYTES8 = 0x8e,
    EMPTY_SET = 0x8f,
    ADDITEMS = 0x90,
    FROZENSET = 0x91,
    STACK_GLOBAL = 0x93,
    MEMOIZE = 0x94,
    FRAME = 0x95,
};

typedef struct {
    SrPickle *p;
    const uint8_t *begin, *at, *end;
    SrPickleValue **stack, **memo;
    int depth, stack_cap, memo_n, memo_cap;
    int marks[MAX_MARKS];
    int n_marks;
} Machine;

// ---- values -------------------------------------------------------------------------------------

// ---- machine ------------------------------------------------------------------------------------

static SrStatus bad(const Machine *m, const char *what) {
    SR_FAIL(SR_ERR_CONFIG, "%s: damaged pickle: %s", m->p->path, what);
}

// Grows a pointer table by doubling up to its bound; new elements are NULL.
static SrStatus grow(const Machine *m, SrPickleValue ***table, int *cap, int need) {
    if (need <= *cap)
        return SR_OK;
    if (need > MAX_STACK)
        return bad(m, "it has more than a million values on the stack");
    int bigger = SR_MAX(need, SR_MIN(MAX_STACK, SR_MAX(64, 2 * *cap)));
    SrPickleValue **p = sr_realloc(*table, (size_t)bigger * sizeof *p);
    if (!p)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", m->p->path);
    memset(p + *cap, 0, (size_t)(bigger - *cap) * sizeof *p);
    *table = p;
    *cap = bigger;
    return SR_OK;
}

static SrStatus push(Machine *m, SrPickleValue *v) {
    if (!v)
        return m->p->failure;
    SR_TRY(grow(m, &m->stack, &m->stack_cap, m->depth + 1));
    m->stack[m->depth++] = v;
    return SR_OK;
}

// Returns the lowest index that an opcode may pop: nothing reaches below the last mark.
static int floor_of(const Machine *m) { return m->n_marks ? m->marks[m->n_marks - 1] : 0; }

static SrStatus pop(Machine *m, SrPickleValue **out) {
    if (m->depth <= floor_of(m))
        return bad(m, "an operation finds nothing on the stack");
    *out = m->stack[--m->depth];
    return SR_OK;
}

static SrStatus top(const Machine *m, SrPickleValue **out) {
    if (m->depth <= floor_of(m))
        return bad(m, "an operation finds nothing on the stack");
    *out = m->stack[m->depth - 1];
    return SR_OK;
}

// Drops the last mark; *first gets the index of the first value above it.
static SrStatus pop_mark(Machine *m, int *first) {
    if (m->n_marks == 0)
        return bad(m, "an operation finds no mark");
    *first = m->marks[--m->n_marks];
    return SR_OK;
}

static SrStatus take_bytes(Machine *m, uint64_t n, const uint8_t **out) {
    if (n > (uint64_t)(m->end - m->at))
        return bad(m, "it is cut off");
    *out = m->at;
    m->at += n;
    return SR_OK;
}

static SrStatus take_number(Machine *m, int bytes, uint64_t *out) {
    const uint8_t *p = NULL;
    SR_TRY(take_bytes(m, (uint64_t)bytes, &p));
    *out = 0;
    for (int i = bytes - 1; i >= 0; i--)
        *out = *out << 8 | p[i];
    return SR_OK;
}

static SrStatus push_int(Machine *m, SrPickleKind kind, int64_t i) {
    SrPickleValue *v = sr__pickle_new(m->p, kind);
    if (v)
        v->i = i;
    return push(m, v);
}

static SrStatus push_text(Machine *m, int length_bytes) {
    uint64_t n = 0;
    const uint8_t *from = NULL;
    SR_TRY(take_number(m, length_bytes, &n));
    SR_TRY(take_bytes(m, n, &from));
    if (n > INT32_MAX)
        return bad(m, "it holds a text of more than 2 GiB");
    char *text = sr__pickle_take(m->p, (size_t)n + 1);
    SrPickleValue *v = text ? sr__pickle_new(m->p, SR_PICKLE_TEXT) : NULL;
    if (!v)
        return m->p->failure;
    memcpy(text, from, (size_t)n);
    v->text = text;
    v->n = (int)n;
    return push(m, v);
}

// Integers beyond 64 bits become texts: their only use is the magic number of old files.
static SrStatus push_long(Machine *m, int length_bytes) {
    uint64_t n = 0, value = 0;
    const uint8_t *length = m->at;
    SR_TRY(take_number(m, length_bytes, &n));
    if (n > 8) {
        m->at = length;
        return push_text(m, length_bytes);
    }
    SR_TRY(take_number(m, (int)n, &value));
    if (n > 0 && n < 8 && value >> (8 * n - 1))
        value |= UINT64_MAX << (8 * n);
    return push_int(m, SR_PICKLE_INT, (int64_t)value);
}

static SrStatus push_float(Machine *m) {
    const uint8_t *from = NULL;
    uint64_t bits = 0;
    SR_TRY(take_bytes(m, 8, &from));
    for (int i = 0; i < 8; i++) // big-endian, unlike all other numbers of the format
        bits = bits << 8 | from[i];
    SrPickleValue *v = sr__pickle_new(m->p, SR_PICKLE_FLOAT);
    if (v)
        memcpy(&v->f, &bits, sizeof v->f);
    return push(m, v);
}

// Moves the values [first, depth) from the stack into a new list.
static SrStatus collect(Machine *m, int first) {
    SrPickleValue *list = sr__pickle_new(m->p, SR_PICKLE_LIST);
    if (!list)
        return m->p->failure;
    for (int i = first; i < m->depth; i++)
        SR_TRY(sr__pickle_push(m->p, list, m->stack[i]));
    m->depth = first;
    return push(m, list);
}

static SrStatus collect_n(Machine *m, int n) {
    if (m->depth - floor_of(m) < n)
        return bad(m, "an operation finds nothing on the stack");
    return collect(m, m->depth - n);
}

// Appends the values [first, depth) to the container below them.
static SrStatus extend(Machine *m, int first, SrPickleKind kind) {
    int n = m->depth - first;
    m->depth = first;
    SrPickleValue *target = NULL;
    SR_TRY(top(m, &target));
    if (target->kind != kind || (kind == SR_PICKLE_DICT && n % 2))
        return bad(m, "it adds items to a value that takes none");
    for (int i = 0; i < n; i++)
        SR_TRY(sr__pickle_push(m->p, target, m->stack[first + i]));
    return SR_OK;
}

static SrStatus extend_marked(Machine *m, SrPickleKind kind) {
    int first = 0;
    SR_TRY(pop_mark(m, &first));
    return extend(m, first, kind);
}

static SrStatus extend_one(Machine *m, int n, SrPickleKind kind) {
    if (m->depth - floor_of(m) < n + 1)
        return bad(m, "an operation finds nothing on the stack");
    return extend(m, m->depth - n, kind);
}

static SrStatus collect_marked(Machine *m, SrPickleKind kind) {
    int first = 0;
    SR_TRY(pop_mark(m, &first));
    SR_TRY(collect(m, first));
    SrPickleValue *v = m->stack[m->depth - 1];
    if (kind == SR_PICKLE_DICT && v->n % 2)
        return bad(m, "a dict has a key without a value");
    v->kind = kind;
    return SR_OK;
}

static SrStatus memo_put(Machine *m, uint64_t index) {
    SrPickleValue *v = NULL;
    SR_TRY(top(m, &v));
    if (index >= (uint64_t)(m->at - m->begin)) // Python numbers them consecutively, one per opcode
        return bad(m, "it stores a value under a memo number that is out of range");
    SR_TRY(grow(m, &m->memo, &m->memo_cap, (int)SR_MIN(index, MAX_STACK) + 1));
    m->memo[index] = v;
    m->memo_n = SR_MAX(m->memo_n, (int)index + 1);
    return SR_OK;
}

static SrStatus memo_get(Machine *m, uint64_t index) {
    if (index >= (uint64_t)m->memo_n || !m->memo[index])
        return bad(m, "it loads a memo number that was never stored");
    return push(m, m->memo[index]);
}

static SrStatus push_global(Machine *m, const char *module, const char *name) {
    const SrPickleGlobal *global = NULL;
    SR_TRY(sr__pickle_global(m->p, module, name, &global));
    SrPickleValue *v = sr__pickle_new(m->p, SR_PICKLE_GLOBAL);
    if (v)
        v->global = global;
    return push(m, v);
}

static SrStatus take_line(Machine *m, char out[MAX_NAME]) {
    const uint8_t *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!newline || newline - m->at >= MAX_NAME)
        return bad(m, "the name of a global is cut off or too long");
    size_t n = (size_t)(newline - m->at);
    memcpy(out, m->at, n);
    out[n] = '\0';
    m->at = newline + 1;
    return SR_OK;
}

static SrStatus do_global(Machine *m) {
    char module[MAX_NAME], name[MAX_NAME];
    SR_TRY(take_line(m, module));
    SR_TRY(take_line(m, name));
    return push_global(m, module, name);
}

static SrStatus do_stack_global(Machine *m) {
    SrPickleValue *name = NULL, *module = NULL;
    SR_TRY(pop(m, &name));
    SR_TRY(pop(m, &module));
    if (name->kind != SR_PICKLE_TEXT || module->kind != SR_PICKLE_TEXT)
        return bad(m, "the name of a global is not text");
    return push_global(m, module->text, name->text);
}

static SrStatus do_call(Machine *m) {
    SrPickleValue *args = NULL, *fn = NULL, *out = NULL;
    SR_TRY(pop(m, &args));
    SR_TRY(pop(m, &fn));
    if (fn->kind != SR_PICKLE_GLOBAL || args->kind != SR_PICKLE_LIST)
        return bad(m, "it calls a value that is not a function");
    SR_TRY(sr__pickle_call(m->p, fn, args, &out));
    return push(m, out);
}

// Sets the state of an object: the fields of a Namespace.  The state of an OrderedDict is PyTorch's
// `_metadata` (version numbers of modules), which loading does not need.
static SrStatus do_build(Machine *m) {
    SrPickleValue *state = NULL, *object = NULL;
    SR_TRY(pop(m, &state));
    SR_TRY(top(m, &object));
    if (object->kind != SR_PICKLE_DICT || object->n > 0 || state->kind != SR_PICKLE_DICT)
        return SR_OK;
    bool metadata = state->n == 2 && state->items[0]->kind == SR_PICKLE_TEXT &&
                    strcmp(state->items[0]->text, "_metadata") == 0;
    for (int i = 0; !metadata && i < state->n; i++)
        SR_TRY(sr__pickle_push(m->p, object, state->items[i]));
    return SR_OK;
}

static SrStatus do_persistent(Machine *m) {
    SrPickleValue *id = NULL, *out = NULL;
    SR_TRY(pop(m, &id));
    SR_TRY(sr__pickle_storage(m->p, id, &out));
    return push(m, out);
}

static SrStatus do_stack(Machine *m, int op) {
    SrPickleValue *v = NULL;
    int first = 0;
    switch (op) {
    case MARK:
        if (m->n_marks == MAX_MARKS)
            return bad(m, "values are nested deeper than 1024 levels");
        m->marks[m->n_marks++] = m->depth;
        return SR_OK;
    case POP: return pop(m, &v);
    case POP_MARK:
        SR_TRY(pop_mark(m, &first));
        m->depth = first;
        return SR_OK;
    default: // DUP
        SR_TRY(top(m, &v));
        return push(m, v);
    }
}

static SrStatus do_number(Machine *m, int op) {
    uint64_t v = 0;
    switch (op) {
    case NONE: return push_int(m, SR_PICKLE_NONE, 0);
    case NEWTRUE: return push_int(m, SR_PICKLE_BOOL, 1);
    case NEWFALSE: return push_int(m, SR_PICKLE_BOOL, 0);
    case BININT: SR_TRY(take_number(m, 4, &v)); return push_int(m, SR_PICKLE_INT, (int32_t)v);
    case BININT1: SR_TRY(take_number(m, 1, &v)); return push_int(m, SR_PICKLE_INT, (int64_t)v);
    case BININT2: SR_TRY(take_number(m, 2, &v)); return push_int(m, SR_PICKLE_INT, (int64_t)v);
    case LONG1: return push_long(m, 1);
    case LONG4: return push_long(m, 4);
    default: return push_float(m);
    }
}

static SrStatus do_memo(Machine *m, int op) {
    uint64_t v = (uint64_t)m->memo_n;
    if (op != MEMOIZE)
        SR_TRY(take_number(m, op == BINPUT || op == BINGET ? 1 : 4, &v));
    return op == BINGET || op == LONG_BINGET ? memo_get(m, v) : memo_put(m, v);
}

static SrStatus step(Machine *m, int op) {
    uint64_t skipped = 0;
    switch (op) {
    case PROTO: return take_number(m, 1, &skipped);
    case FRAME: return take_number(m, 8, &skipped);
    case MARK:
    case POP:
    case POP_MARK:
    case DUP: return do_stack(m, op);
    case NONE:
    case NEWTRUE:
    case NEWFALSE:
    case BININT:
    case BININT1:
    case BININT2:
    case LONG1:
    case LONG4:
    case BINFLOAT: return do_number(m, op);
    case SHORT_BINSTRING:
    case SHORT_BINBYTES:
    case SHORT_BINUNICODE: return push_text(m, 1);
    case BINSTRING:
    case BINBYTES:
    case BINUNICODE: return push_text(m, 4);
    case BINUNICODE8:
    case BINBYTES8: return push_text(m, 8);
    case EMPTY_DICT: return push(m, sr__pickle_new(m->p, SR_PICKLE_DICT));
    case EMPTY_LIST:
    case EMPTY_TUPLE:
    case EMPTY_SET: return push(m, sr__pickle_new(m->p, SR_PICKLE_LIST));
    case TUPLE1:
    case TUPLE2:
    case TUPLE3: return collect_n(m, op - TUPLE1 + 1);
    case TUPLE:
    case LIST:
    case FROZENSET: return collect_marked(m, SR_PICKLE_LIST);
    case DICT: return collect_marked(m, SR_PICKLE_DICT);
    case APPEND: return extend_one(m, 1, SR_PICKLE_LIST);
    case APPENDS:
    case ADDITEMS: return extend_marked(m, SR_PICKLE_LIST);
    case SETITEM: return extend_one(m, 2, SR_PICKLE_DICT);
    case SETITEMS: return extend_marked(m, SR_PICKLE_DICT);
    case BINPUT:
    case LONG_BINPUT:
    case MEMOIZE:
    case BINGET:
    case LONG_BINGET: return do_memo(m, op);
    case GLOBAL: return do_global(m);
    case STACK_GLOBAL: return do_stack_global(m);
    case REDUCE:
    case NEWOBJ: return do_call(m);
    case BUILD: return do_build(m);
    case BINPERSID: return do_persistent(m);
    default:
        SR_FAIL(SR_ERR_CONFIG, "%s: damaged pickle, or not a pickle: opcode 0x%02x", m->p->path,
                (unsigned)op);
    }
}

SrStatus sr_pickle_read(SrPickle *p, const uint8_t *data, size_t bytes, size_t *used,
                        SrPickleValue **out) {
    Machine m = {.p = p, .begin = data, .at = data, .end = data + bytes};
    SrStatus status = SR_OK;
    uint64_t op = 0;
    while (status == SR_OK && op != STOP) {
        status = take_number(&m, 1, &op);
        if (status == SR_OK && op != STOP)
            status = step(&m, (int)op);
    }
    if (status == SR_OK)
        status = pop(&m, out);
    *used = (size_t)(m.at - data);
    sr_free(m.stack);
    sr_free(m.memo);
    return status;
}
