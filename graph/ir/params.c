// The parameter table: maps names to memory.
//
// Values and gradients are in mapped blocks, one pair for each call of allocate that finds new
// entries. Nothing moves when a head or a teacher is added later, so plans may hold plain
// pointers.
#include "graph/ir/params.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "graph/ir/init.h"
#include "graph/ir/name_map.h"

// Most blocks.  Each allocate makes two and runs once per graph, so a few dozen are unusual.
enum { ALIGN_FLOATS = SR_ALIGN / sizeof(float), MAX_BLOCKS = 64 };

typedef struct {
    void *memory;
    size_t bytes;
} Block;

struct SrParams {
    SrArena arena; // names
    SrNameMap by_name;
    SrParam *entries;
    bool *drawn; // (entries) true: initialised
    int count, capacity;
    int allocated; // entries below have memory
    Block blocks[MAX_BLOCKS];
    int n_blocks;
    int64_t grad_floats; // length of the gradient block so far, with padding
};

SrStatus sr_params_new(SrParams **out) {
    *out = sr_calloc(1, sizeof **out);
    return *out ? SR_OK : sr_out_of_memory("the parameter table");
}

void sr_params_free(SrParams *params) {
    if (!params)
        return;
    for (int i = 0; i < params->n_blocks; i++)
        sr_unmap(params->blocks[i].memory, params->blocks[i].bytes);
    sr_name_map_deinit(&params->by_name);
    sr_arena_deinit(&params->arena);
    sr_free(params->entries);
    sr_free(params->drawn);
    sr_free(params);
}

// Makes room for one more entry in both arrays.  If memory runs out, one may have grown alone,
// which is harmless.
static SrStatus reserve(SrParams *params) {
    if (params->count < params->capacity)
        return SR_OK;
    int capacity = params->capacity ? 2 * params->capacity : 64;
    SrParam *entries = sr_realloc(params->entries, (size_t)capacity * sizeof *entries);
    if (entries)
        params->entries = entries;
    bool *drawn = sr_realloc(params->drawn, (size_t)capacity * sizeof *drawn);
    if (drawn)
        params->drawn = drawn;
    SR_TRY_MEMORY(entries && drawn, "%d parameters", capacity);
    params->capacity = capacity;
    return SR_OK;
}

// A name means one tensor: a second use must agree, or two modules have the same name by mistake.
static SrStatus check_same(const SrParam *p, const SrSlot *slot) {
    if (sr_shape_equal(p->shape, slot->shape) && p->dtype == slot->dtype && p->kind == slot->kind)
        return SR_OK;
    char have[SR_SHAPE_TEXT_BYTES], want[SR_SHAPE_TEXT_BYTES];
    SR_FAIL(SR_ERR_CONFIG, "parameter %s is %s %s already and cannot also be %s %s", p->name,
            sr_dtype_name(p->dtype), sr_shape_text(p->shape, have, sizeof have),
            sr_dtype_name(slot->dtype), sr_shape_text(slot->shape, want, sizeof want));
}

SrStatus sr_params_add(SrParams *params, const char *name, const SrSlot *slot, int *index) {
    // The first use decides role and initialisation; later passes only look the entry up.
    *index = sr_name_map_find(&params->by_name, name);
    if (*index >= 0)
        return check_same(&params->entries[*index], slot);
    SR_TRY(reserve(params));
    char *copy = sr_arena_strdup(&params->arena, name);
    SR_TRY_MEMORY(copy, "the name of parameter %s", name);
    SR_TRY(sr_name_map_put(&params->by_name, copy, params->count));
    *index = params->count++;
    params->drawn[*index] = false;
    params->entries[*index] = (SrParam){.name = copy,
                                        .shape = slot->shape,
                                        .dtype = slot->dtype,
                                        .kind = slot->kind,
                                        .role = slot->role,
                                        .init = slot->init,
                                        .trainable = slot->kind == SR_SLOT_PARAM,
                                        .grad_offset = -1};
    return SR_OK;
}

int sr_params_count(const SrParams *params) { return params->count; }

SrParam *sr_params_at(SrParams *params, int index) {
    SR_ASSERT(index >= 0 && index < params->count);
    return &params->entries[index];
}

int sr_params_find(const SrParams *params, const char *name) {
    return sr_name_map_find(&params->by_name, name);
}

int sr_params_set_trainable(SrParams *params, const char *glob, bool trainable) {
    int matched = 0;
    for (int i = 0; i < params->count; i++) {
        SrParam *p = &params->entries[i];
        if (p->kind != SR_SLOT_PARAM || !sr_text_glob(glob, p->name))
            continue;
        p->trainable = trainable;
        matched++;
    }
    return matched;
}

// Entries start on cache lines, so that no two threads' entries share one.
static size_t value_bytes(const SrParam *p) {
    size_t bytes = (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype);
    return (bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

// Gradients have the padding of values, so that optimisers can run over a block with aligned
// vectors.
static int64_t grad_floats(const SrParam *p) {
    return (sr_shape_count(p->shape) + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

// Allocates a zeroed block that the table owns; NULL: there is nothing to store.
static SrStatus map_block(SrParams *params, size_t bytes, void **out) {
    *out = NULL;
    if (bytes == 0)
        return SR_OK;
    if (params->n_blocks == MAX_BLOCKS)
        SR_FAIL(SR_ERR_MEMORY, "parameters were allocated in more than %d pieces", MAX_BLOCKS / 2);
    *out = sr_map(bytes);
    if (!*out)
        return sr_out_of_memory("%zu MiB of parameters", bytes >> 20);
    params->blocks[params->n_blocks++] = (Block){*out, bytes};
    return SR_OK;
}

SrStatus sr_params_allocate(SrParams *params) {
    // Two passes over the new entries: sizes, then addresses.
    size_t values = 0;
    int64_t grads = 0;
    for (int i = params->allocated; i < params->count; i++) {
        values += value_bytes(&params->entries[i]);
        grads += params->entries[i].trainable ? grad_floats(&params->entries[i]) : 0;
    }
    void *value_block, *grad_block;
    int n_blocks = params->n_blocks;
    SR_TRY(map_block(params, values, &value_block));
    if (map_block(params, (size_t)grads * sizeof(float), &grad_block) != SR_OK) {
        if (params->n_blocks > n_blocks) // value_block is the last
            sr_unmap(value_block, values);
        params->n_blocks = n_blocks;
        return SR_ERR_MEMORY;
    }
    size_t at = 0;
    int64_t grad_at = 0;
    for (int i = params->allocated; i < params->count; i++) {
        SrParam *p = &params->entries[i];
        p->value = (char *)value_block + at;
        at += value_bytes(p);
        if (!p->trainable)
            continue;
        p->grad = (float *)grad_block + grad_at;
        p->grad_offset = params->grad_floats + grad_at; // counts on over earlier blocks
        grad_at += grad_floats(p);
    }
    params->grad_floats += grad_at;
    params->allocated = params->count;
    return SR_OK;
}

static SrTensor value_of(const SrParam *p) { return (SrTensor){p->shape, p->dtype, p->value}; }

void sr_params_init(SrParams *params, uint64_t seed) {
    const SrParam *entries = params->entries;
    for (int i = 0; i < params->allocated; i++)
        if (!params->drawn[i] && entries[i].init.kind != SR_INIT_NORM_OF)
            sr__init_draw(value_of(&entries[i]), entries[i].init, entries[i].name, seed);
    // Norms come last: they read the entry after them, which must have been drawn.
    for (int i = 0; i < params->allocated; i++)
        if (!params->drawn[i] && entries[i].init.kind == SR_INIT_NORM_OF &&
            i + 1 < params->allocated)
            sr__init_row_norms(value_of(&entries[i]), value_of(&entries[i + 1]));
    for (int i = 0; i < params->allocated; i++)
        params->drawn[i] = true;
}

static SrStatus copy_values(SrParams *to, SrParams *from, bool all) {
    SR_TRY(sr_params_allocate(to));
    for (int i = 0; i < to->count; i++) {
        SrParam *p = &to->entries[i];
        int k = sr_params_find(from, p->name);
        const SrParam *q = k < 0 ? NULL : &from->entries[k];
        if (!q || !q->value)
            continue;
        bool fits = sr_shape_equal(p->shape, q->shape) && p->dtype == q->dtype;
        if (!fits && all)
            SR_FAIL(SR_ERR_CONFIG,
                    "parameter %s differs in shape or type from what is to be copied", p->name);
        if (!fits)
            continue;
        memcpy(p->value, q->value, (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype));
        to->drawn[i] = from->drawn[k];
    }
    return SR_OK;
}

SrStatus sr_params_copy(SrParams *to, SrParams *from) { return copy_values(to, from, true); }

SrStatus sr_params_copy_fitting(SrParams *to, SrParams *from) {
    return copy_values(to, from, false);
}

void sr_params_zero_grad(SrParams *params) {
    for (int i = 0; i < params->allocated; i++) {
        SrParam *p = &params->entries[i];
        if (p->grad)
            memset(p->grad, 0, (size_t)sr_shape_count(p->shape) * sizeof(float));
    }
}

size_t sr_params_bytes(const SrParams *params) {
    size_t bytes = 0;
    for (int i = 0; i < params->n_blocks; i++)
        bytes += params->blocks[i].bytes;
    return bytes;
}

int64_t sr_params_numbers(const SrParams *params, bool trainable_only) {
    int64_t n = 0;
    for (int i = 0; i < params->count; i++) {
        const SrParam *p = &params->entries[i];
        if (p->kind == SR_SLOT_PARAM && (p->trainable || !trainable_only))
            n += sr_shape_count(p->shape);
    }
    return n;
}
