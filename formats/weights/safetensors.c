// Reads and writes safetensors: u64 length, header {"name": {"dtype", "shape", "data_offsets"}},
// raw data.
#include "formats/weights/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/json.h"

enum {
    MAX_HEADER = 100 * 1000 * 1000,
    MAX_TENSORS = 100000,
    MAX_META = 65536,     // pairs
    MAX_MEMBER = 4 << 20, // bytes of text: a tensor's line, or all metadata
};

typedef struct {
    SrNamedTensor named;
    uint64_t begin, end; // byte offsets from the start of the data
} Entry;

// State of reading a header, one member at a time.
typedef struct {
    SrSafetensors *st;
    const char *path;
    uint64_t data_bytes;
    Entry *entries;
    int n, cap;
    bool meta;
} Header;

// Breaks ties by the end, so that an empty tensor comes before one that starts at the same byte.
static int by_begin(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static SrStatus bad(const char *path, const char *name, const char *what) {
    SR_FAIL(SR_ERR_CONFIG, "%s: tensor '%s': %s", path, name, what);
}

// Checks the product `count` factor by factor: 2^31 * 2^31 * 4 would overflow to 0.
static SrStatus read_shape(const char *path, const char *name, const SrYaml *shape, SrShape *out,
                           uint64_t *count) {
    if (!shape || shape->type != SR_YAML_LIST)
        return bad(path, name, "it has no shape");
    if (shape->n > SR_MAX_RANK)
        return bad(path, name, "it has more dimensions than are supported");
    out->rank = shape->n;
    *count = 1;
    for (int i = 0; i < shape->n; i++) {
        const SrYaml *d = shape->items[i];
        if (d->type != SR_YAML_INT || d->i < 0 || d->i > INT32_MAX)
            return bad(path, name, "a dimension is not a whole number from 0 to 2^31-1");
        out->d[i] = (int)d->i;
        if (d->i > 0 && *count > UINT64_MAX / 16 / (uint64_t)d->i) // 16: an element and more
            return bad(path, name, "its shape overflows");
        *count *= (uint64_t)d->i;
    }
    return SR_OK;
}

// Checks every claim about a tensor against the file before a pointer is computed.  Unknown fields
// are ignored, because the format may grow.
static SrStatus read_entry(const char *path, const char *name, const SrYaml *map,
                           uint64_t data_bytes, Entry *out) {
    const SrYaml *dtype = sr_yaml_find(map, "dtype"), *offsets = sr_yaml_find(map, "data_offsets");
    uint64_t count = 0;
    out->named.name = name;
    if (!dtype || !dtype->text || !sr_dtype_parse(dtype->text, &out->named.tensor.dtype))
        SR_FAIL(SR_ERR_CONFIG, "%s: tensor '%s': element type '%s' is not supported", path, name,
                dtype && dtype->text ? dtype->text : "none");
    SR_TRY(read_shape(path, name, sr_yaml_find(map, "shape"), &out->named.tensor.shape, &count));
    bool two = offsets && offsets->type == SR_YAML_LIST && offsets->n == 2 &&
               offsets->items[0]->type == SR_YAML_INT && offsets->items[1]->type == SR_YAML_INT;
    if (!two || offsets->items[0]->i < 0 || offsets->items[1]->i < offsets->items[0]->i)
        return bad(path, name, "data_offsets are not two whole numbers in rising order");
    out->begin = (uint64_t)offsets->items[0]->i;
    out->end = (uint64_t)offsets->items[1]->i;
    if (out->end > data_bytes)
        return bad(path, name, "its data lies beyond the end of the file (truncated?)");
    if (count * sr_dtype_bytes(out->named.tensor.dtype) != out->end - out->begin)
        return bad(path, name, "its data range does not agree with its shape");
    return SR_OK;
}

// Ranges must tile the data without overlap or gap; the format demands it.
static SrStatus check_tiling(const char *path, const Entry *entries, int n, uint64_t data_bytes) {
    uint64_t at = 0;
    for (int i = 0; i < n; i++) {
        if (entries[i].begin != at)
            return bad(path, entries[i].named.name,
                       entries[i].begin < at ? "it overlaps the tensor before it"
                                             : "there is a gap before it");
        at = entries[i].end;
    }
    if (at != data_bytes)
        SR_FAIL(SR_ERR_CONFIG, "%s: %" PRIu64 " bytes follow the last tensor", path,
                data_bytes - at);
    return SR_OK;
}

static SrStatus out_of_memory(const char *path) {
    SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", path);
}

static SrStatus read_meta(Header *h, const SrYaml *meta) {
    SrSafetensors *st = h->st;
    if (meta->type != SR_YAML_MAP)
        SR_FAIL(SR_ERR_CONFIG, "%s: __metadata__ is not a map", h->path);
    if (h->meta || meta->n > MAX_META)
        SR_FAIL(SR_ERR_CONFIG, "%s: __metadata__ occurs twice, or has more than %d keys", h->path,
                MAX_META);
    h->meta = true;
    st->meta_keys = sr_arena_alloc(&st->arena, (size_t)(meta->n + 1) * sizeof *st->meta_keys);
    st->meta_values = sr_arena_alloc(&st->arena, (size_t)(meta->n + 1) * sizeof *st->meta_values);
    if (!st->meta_keys || !st->meta_values)
        return out_of_memory(h->path);
    for (int i = 0; i < meta->n; i++) {
        if (meta->items[i]->type != SR_YAML_STRING)
            SR_FAIL(SR_ERR_CONFIG, "%s: metadata '%s' is not a string", h->path, meta->keys[i]);
        st->meta_keys[i] = sr_arena_strdup(&st->arena, meta->keys[i]);
        st->meta_values[i] = sr_arena_strdup(&st->arena, meta->items[i]->text);
        if (!st->meta_keys[i] || !st->meta_values[i])
            return out_of_memory(h->path);
    }
    st->n_meta = meta->n;
    return SR_OK;
}

static SrStatus read_member(void *arg, const char *key, const SrYaml *value) {
    Header *h = arg;
    if (strcmp(key, "__metadata__") == 0)
        return read_meta(h, value);
    if (h->n == MAX_TENSORS)
        SR_FAIL(SR_ERR_CONFIG, "%s: more than %d tensors", h->path, MAX_TENSORS);
    if (h->n == h->cap) {
        int grown = h->cap ? 2 * h->cap : 256;
        Entry *bigger = sr_realloc(h->entries, (size_t)grown * sizeof *bigger);
        if (!bigger)
            return out_of_memory(h->path);
        h->entries = bigger;
        h->cap = grown;
    }
    Entry *e = &h->entries[h->n];
    SR_TRY(read_entry(h->path, key, value, h->data_bytes, e));
    e->named.name = sr_arena_strdup(&h->st->arena, key);
    h->n++;
    return e->named.name ? SR_OK : out_of_memory(h->path);
}

// Copies tensors that do not start at a multiple of their element size, which the format allows.
static SrStatus align_data(SrSafetensors *st, const char *path, SrTensor *t) {
    size_t element = sr_dtype_bytes(t->dtype);
    if ((uintptr_t)t->data % element == 0)
        return SR_OK;
    t->data = sr_arena_copy(&st->arena, t->data, (size_t)sr_shape_count(t->shape) * element);
    return t->data ? SR_OK : out_of_memory(path);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const Entry *)a)->named.name, ((const Entry *)b)->named.name);
}

// Refuses repeated keys: JSON leaves them undefined, and two readers could choose differently.
static SrStatus check_names(const char *path, Entry *entries, int n) {
    if (n > 1)
        qsort(entries, (size_t)n, sizeof *entries, by_name);
    for (int i = 1; i < n; i++)
        if (strcmp(entries[i - 1].named.name, entries[i].named.name) == 0)
            return bad(path, entries[i].named.name, "occurs twice");
    return SR_OK;
}

static SrStatus place_tensors(const Header *h, const char *data) {
    SrSafetensors *st = h->st;
    SR_TRY(check_names(h->path, h->entries, h->n));
    if (h->n > 1)
        qsort(h->entries, (size_t)h->n, sizeof *h->entries, by_begin);
    SR_TRY(check_tiling(h->path, h->entries, h->n, h->data_bytes));
    st->tensors = sr_arena_alloc(&st->arena, (size_t)(h->n + 1) * sizeof *st->tensors);
    if (!st->tensors)
        return out_of_memory(h->path);
    for (int i = 0; i < h->n; i++) {
        st->tensors[i] = h->entries[i].named;
        st->tensors[i].tensor.data = (void *)(uintptr_t)(data + h->entries[i].begin);
    }
    st->n = h->n;
    return SR_OK;
}

// Reads the length, which is little-endian on every machine.  The check subtracts from the file's
// size instead of adding to the claimed length, so that it cannot overflow.
static SrStatus open_mapped(SrSafetensors *st, const char *path) {
    uint64_t header_bytes = 0;
    if (st->map_bytes < 8)
        SR_FAIL(SR_ERR_CONFIG, "%s: not a safetensors file: only %zu bytes", path, st->map_bytes);
    const unsigned char *map = st->map;
    for (int i = 7; i >= 0; i--)
        header_bytes = header_bytes << 8 | map[i];
    if (header_bytes > MAX_HEADER || header_bytes > st->map_bytes - 8)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: not a safetensors file: a header of %" PRIu64
                " bytes is announced, but the file has %zu",
                path, header_bytes, st->map_bytes);
    const char *text = (const char *)st->map + 8;
    Header h = {.st = st, .path = path, .data_bytes = st->map_bytes - 8 - header_bytes};
    SrStatus status =
        sr_json_members(text, (size_t)header_bytes, path, MAX_MEMBER, read_member, &h);
    if (status == SR_OK)
        status = place_tensors(&h, text + header_bytes);
    sr_free(h.entries);
    return status;
}

// A failure leaves `st` empty, so that closing it again is legal.
SrStatus sr_safetensors_map(SrSafetensors *st, const char *path) {
    *st = (SrSafetensors){0};
    SR_TRY(sr_file_map(path, &st->map, &st->map_bytes));
    SrStatus status = open_mapped(st, path);
    if (status != SR_OK)
        sr_safetensors_close(st);
    return status;
}

SrStatus sr_safetensors_open(SrSafetensors *st, const char *path) {
    SR_TRY(sr_safetensors_map(st, path));
    SrStatus status = SR_OK;
    for (int i = 0; status == SR_OK && i < st->n; i++)
        status = align_data(st, path, &st->tensors[i].tensor);
    if (status != SR_OK)
        sr_safetensors_close(st);
    return status;
}

void sr_safetensors_close(SrSafetensors *st) {
    sr_file_unmap(st->map, st->map_bytes);
    sr_arena_deinit(&st->arena);
    *st = (SrSafetensors){0};
}

const SrTensor *sr_safetensors_find(const SrSafetensors *st, const char *name) {
    for (int i = 0; i < st->n; i++)
        if (strcmp(st->tensors[i].name, name) == 0)
            return &st->tensors[i].tensor;
    return NULL;
}

const char *sr_safetensors_meta(const SrSafetensors *st, const char *key) {
    for (int i = 0; i < st->n_meta; i++)
        if (strcmp(st->meta_keys[i], key) == 0)
            return st->meta_values[i];
    return NULL;
}

static void add_quoted(SrText *out, const char *s) {
    SrYaml node = {.type = SR_YAML_STRING, .text = s};
    sr_json_print(&node, out);
}

static size_t tensor_bytes(const SrTensor *t) {
    return (size_t)sr_shape_count(t->shape) * sr_dtype_bytes(t->dtype);
}

// Offsets follow the given order without gaps, because readers of other frameworks demand it.
static void header_text(SrText *out, const SrNamedTensor *tensors, int n, const char *const *keys,
                        const char *const *values, int n_meta) {
    sr_text_add(out, "{");
    if (n_meta)
        sr_text_add(out, "\"__metadata__\":{");
    for (int i = 0; i < n_meta; i++) {
        sr_text_add(out, i ? "," : "");
        add_quoted(out, keys[i]);
        sr_text_add(out, ":");
        add_quoted(out, values[i]);
    }
    sr_text_add(out, n_meta ? "}" : "");
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        const SrTensor *t = &tensors[i].tensor;
        sr_text_add(out, i || n_meta ? "," : "");
        add_quoted(out, tensors[i].name);
        sr_text_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", sr_dtype_name(t->dtype));
        for (int d = 0; d < t->shape.rank; d++)
            sr_text_printf(out, "%s%d", d ? "," : "", t->shape.d[d]);
        sr_text_printf(out, "],\"data_offsets\":[%zu,%zu]}", at, at + tensor_bytes(t));
        at += tensor_bytes(t);
    }
    sr_text_add(out, "}");
    while ((out->len + 8) % SR_ALIGN != 0 && !out->failed)
        sr_text_add(out, " "); // blanks are legal JSON and align the data
}

static SrStatus write_tensors(FILE *f, const char *path, const SrNamedTensor *tensors, int n,
                              SrTensorRead read, void *arg) {
    for (int i = 0; i < n; i++) {
        size_t bytes = tensor_bytes(&tensors[i].tensor);
        const void *data = tensors[i].tensor.data;
        if (read)
            SR_TRY(read(arg, i, &data));
        if (bytes > 0 && fwrite(data, 1, bytes, f) != bytes)
            SR_FAIL(SR_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    }
    return SR_OK;
}

SrStatus sr_safetensors_save_from(const char *path, const SrNamedTensor *tensors, int n,
                                  const char *const *meta_keys, const char *const *meta_values,
                                  int n_meta, SrTensorRead read, void *arg) {
    SrText header = SR_TEXT_INIT;
    header_text(&header, tensors, n, meta_keys, meta_values, n_meta);
    SrFileWriter writer = {0};
    SrStatus status = header.failed ? sr_fail(SR_ERR_MEMORY, "%s: out of memory", path)
                                    : sr_file_begin(&writer, path);
    if (status != SR_OK) {
        sr_text_deinit(&header);
        return status;
    }
    errno = 0;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)header.len >> (8 * i));
    bool ok = fwrite(length, 1, 8, writer.f) == 8 &&
              fwrite(header.s, 1, header.len, writer.f) == header.len;
    sr_text_deinit(&header);
    status = ok ? write_tensors(writer.f, path, tensors, n, read, arg)
                : sr_fail(SR_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    if (status == SR_OK)
        return sr_file_commit(&writer);
    sr_file_abort(&writer);
    return status;
}

// Writes header and data to the temporary file; the old file stays untouched until the commit.
SrStatus sr_safetensors_save(const char *path, const SrNamedTensor *tensors, int n,
                             const char *const *meta_keys, const char *const *meta_values,
                             int n_meta) {
    return sr_safetensors_save_from(path, tensors, n, meta_keys, meta_values, n_meta, NULL, NULL);
}
