// Makes an index of shards: collects the images, then writes the sections of the file.
#include "data/sets/shard_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

enum { MAX_CLASSES = 1 << 20 };
// Largest matrix of labels; a larger one points to a mistake in the labels.
#define MAX_TARGET_BYTES ((int64_t)4 << 30)

// An entry of the matrix of labels that is not zero: class c of image `image` is `value`.
typedef struct {
    int64_t image;
    int32_t c;
    int8_t value;
} Mark;

struct SrShardList {
    SrText rows, entries, names; // arrays of SrShardRow and SrShardEntry; strings
    SrText marks;                // array of Mark
    SrStringList words;          // labels that are names
    int64_t n, largest;
    bool several, numbers;
};

static SrShardEntry *entries(const SrShardList *l) { return (SrShardEntry *)(void *)l->entries.s; }

static SrShardRow *last_row(const SrShardList *l) {
    return (SrShardRow *)(void *)(l->rows.s + l->rows.len) - 1;
}

static SrStatus added(const SrText *text) {
    return text->failed ? sr_out_of_memory("an index of images") : SR_OK;
}

SrStatus sr__shard_list_new(SrShardList **out) {
    *out = sr_calloc(1, sizeof **out);
    if (!*out)
        return sr_out_of_memory("an index of images");
    (*out)->largest = -1;
    return SR_OK;
}

void sr__shard_list_free(SrShardList *l) {
    if (!l)
        return;
    sr_text_deinit(&l->rows);
    sr_text_deinit(&l->entries);
    sr_text_deinit(&l->names);
    sr_text_deinit(&l->marks);
    sr__string_list_deinit(&l->words);
    sr_free(l);
}

SrStatus sr__shard_list_begin(SrShardList *l, const char *name) {
    SrShardRow row = {.first = l->n};
    size_t len = strlen(name);
    if (len >= sizeof row.name)
        SR_FAIL(SR_ERR_CONFIG, "%s: the name of the shard is too long; expected at most %zu bytes",
                name, sizeof row.name - 1);
    memcpy(row.name, name, len);
    sr_text_addn(&l->rows, (const char *)&row, sizeof row);
    return added(&l->rows);
}

void sr__shard_list_end(SrShardList *l, uint64_t bytes, int64_t changed) {
    SR_ASSERT(l->rows.len >= sizeof(SrShardRow)); // a shard has begun
    SrShardRow *row = last_row(l);
    row->bytes = bytes;
    row->changed = changed;
    row->n = l->n - row->first;
}

SrStatus sr__shard_list_add(SrShardList *l, const char *name, uint64_t offset, uint64_t bytes,
                            uint32_t crc) {
    if (bytes > UINT32_MAX || l->n == INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: the member is too large for an image, or there are more than %d images", name,
                INT32_MAX);
    SrShardEntry e = {.offset = offset,
                      .name = l->names.len,
                      .bytes = (uint32_t)bytes,
                      .crc = crc,
                      .label = -1,
                      .shard = (uint32_t)(l->rows.len / sizeof(SrShardRow) - 1)};
    sr_text_addn(&l->entries, (const char *)&e, sizeof e);
    sr_text_addn(&l->names, name, strlen(name) + 1);
    l->n++;
    SR_TRY(added(&l->names));
    return added(&l->entries);
}

static SrStatus mark(SrShardList *l, int64_t i, int64_t c, int8_t value) {
    SR_ASSERT(i >= 0 && i < l->n && c >= 0 && c < MAX_CLASSES && (value == 1 || value == -1));
    Mark m = {.image = i, .c = (int32_t)c, .value = value};
    sr_text_addn(&l->marks, (const char *)&m, sizeof m);
    l->largest = SR_MAX(l->largest, c);
    return added(&l->marks);
}

// Reads a whole number and an optional "?", and moves *s past them and the blanks that follow.
static bool take_class(const char **s, int64_t *c, int8_t *value) {
    char *end;
    if (!isdigit((unsigned char)**s))
        return false;
    *c = strtoll(*s, &end, 10);
    *value = *end == '?' ? -1 : 1;
    end += *end == '?';
    if (*c >= MAX_CLASSES || !strchr(" \t\r\n,", *end))
        return false;
    *s = end + strspn(end, " \t\r\n,");
    return true;
}

// Counts the classes in a label; -1: the label is a name.
static int64_t count_classes(const char *s) {
    int64_t c, n = 0;
    int8_t value;
    for (; *s; n++)
        if (!take_class(&s, &c, &value))
            return -1;
    return n;
}

static SrStatus label_word(SrShardList *l, int64_t i, const char *text) {
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    if (l->numbers || l->words.n > INT32_MAX - 2)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: its class is the name \"%.*s\", but earlier images have numbers; expected one "
                "kind in all shards",
                l->names.s + entries(l)[i].name, (int)SR_MIN(len, 60), text);
    entries(l)[i].label = (int32_t)(-2 - l->words.n);
    return sr__string_list_add(&l->words, text, len);
}

SrStatus sr__shard_list_label(SrShardList *l, int64_t i, const char *text) {
    const char *s = text + strspn(text, " \t\r\n");
    int64_t n = count_classes(s), c;
    int8_t value;
    if (n < 0)
        return label_word(l, i, s);
    if (l->words.n)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: its class is a number, but earlier images have names; expected one kind in "
                "all shards",
                l->names.s + entries(l)[i].name);
    l->numbers = true;
    l->several = l->several || n != 1 || strchr(s, '?');
    while (*s && take_class(&s, &c, &value)) {
        SR_TRY(mark(l, i, c, value));
        entries(l)[i].label = n == 1 ? (int32_t)c : -1;
    }
    return SR_OK;
}

void sr__shard_list_several(SrShardList *l) { l->several = true; }

int64_t sr__shard_list_length(const SrShardList *l) { return l->n; }

void sr__shard_list_cut(SrShardList *l, int64_t first) {
    if (first >= l->n)
        return;
    l->names.len = entries(l)[first].name;
    l->entries.len = (size_t)first * sizeof(SrShardEntry);
    l->n = first;
}

// ---- the file

// Turns labels that are names into numbers: their place in `known`, or in their own sorted list.
static SrStatus resolve_words(SrShardList *l, const SrStringList *known, SrStringList *sorted) {
    for (int64_t k = 0; known->n == 0 && k < l->words.n; k++) {
        const char *word = sr__string_list_get(&l->words, k);
        SR_TRY(sr__string_list_add(sorted, word, strlen(word)));
    }
    for (int64_t k = 0; k < known->n; k++) {
        const char *word = sr__string_list_get(known, k);
        SR_TRY(sr__string_list_add(sorted, word, strlen(word)));
    }
    if (known->n == 0) {
        sr__string_list_sort(sorted, 0);
        sr__string_list_unique(sorted);
    }
    return SR_OK;
}

// Sorting a list moves positions of strings, not the strings.
static SrStatus print_names(const SrStringList *names, SrText *out) {
    for (int64_t c = 0; c < names->n; c++) {
        const char *name = sr__string_list_get(names, c);
        sr_text_addn(out, name, strlen(name) + 1);
    }
    return added(out);
}

// Names are written in the order of the classes, which need not be that of their bytes.
static int64_t find_word(const SrStringList *classes, bool in_order, const char *word) {
    if (in_order)
        return sr__string_list_find(classes, word);
    for (int64_t c = 0; c < classes->n; c++)
        if (strcmp(sr__string_list_get(classes, c), word) == 0)
            return c;
    return -1;
}

static SrStatus label_words(SrShardList *l, const SrStringList *classes, bool in_order) {
    for (int64_t i = 0; l->words.n && i < l->n; i++) {
        SrShardEntry *e = &entries(l)[i];
        if (e->label > -2)
            continue;
        const char *word = sr__string_list_get(&l->words, -2 - (int64_t)e->label);
        int64_t c = find_word(classes, in_order, word);
        if (c < 0)
            SR_FAIL(SR_ERR_CONFIG, "%s: its class is \"%.60s\", which %s does not list",
                    l->names.s + e->name, word, SR_SHARD_CLASSES);
        e->label = (int32_t)c;
    }
    return SR_OK;
}

// Appends the matrix of labels, (n, classes) of zeros and marks, at the end of the file.
static SrStatus print_targets(const SrShardList *l, int64_t classes, SrText *out) {
    static const char zeros[4096];
    int64_t bytes = classes * l->n;
    if (bytes > MAX_TARGET_BYTES)
        SR_FAIL(SR_ERR_CONFIG, "%lld images with several labels each of %lld classes are too many",
                (long long)l->n, (long long)classes);
    size_t from = out->len;
    for (int64_t left = bytes; left > 0; left -= SR_COUNT(zeros))
        sr_text_addn(out, zeros, (size_t)SR_MIN(left, SR_COUNT(zeros)));
    SR_TRY(added(out));
    const Mark *m = (const Mark *)(const void *)l->marks.s;
    for (size_t k = 0; k < l->marks.len / sizeof *m; k++)
        out->s[from + (size_t)(m[k].image * classes + m[k].c)] = (char)m[k].value;
    for (int64_t i = 0; i < l->n; i++)
        entries(l)[i].label = -1;
    return SR_OK;
}

static SrStatus print_all(SrShardList *l, const SrStringList *classes, uint64_t names_mark,
                          bool summed, SrText *out) {
    ((SrShardRow *)(void *)l->rows.s)->names_mark = names_mark;
    SrShardHead head = {.version = SR__SHARD_VERSION,
                        .summed = summed,
                        .several = l->several,
                        .images = l->n,
                        .shards = (int64_t)(l->rows.len / sizeof(SrShardRow)),
                        .classes = SR_MAX(l->largest + 1, classes->n),
                        .class_names = classes->n,
                        .class_bytes = classes->len,
                        .names_bytes = l->names.len};
    SrText targets = SR_TEXT_INIT, names = SR_TEXT_INIT;
    memcpy(head.magic, SR__SHARD_MAGIC, sizeof head.magic);
    SrStatus status = l->several ? print_targets(l, head.classes, &targets) : SR_OK;
    if (status == SR_OK)
        status = print_names(classes, &names);
    head.class_bytes = names.len;
    head.crc = sr__shard_head_crc(&head, l->rows.s, l->rows.len, names.s);
    sr_text_addn(out, (const char *)&head, sizeof head);
    sr_text_addn(out, l->rows.s, l->rows.len);
    sr_text_addn(out, l->entries.s, l->entries.len);
    if (l->several)
        sr_text_addn(out, targets.s ? targets.s : "", targets.len);
    if (names.len)
        sr_text_addn(out, names.s, names.len);
    sr_text_addn(out, l->names.s, l->names.len);
    sr_text_deinit(&targets);
    sr_text_deinit(&names);
    return status == SR_OK ? added(out) : status;
}

SrStatus sr__shard_list_print(SrShardList *l, const SrStringList *class_names, uint64_t names_mark,
                              bool summed, SrText *out) {
    SrStringList classes = {0};
    if (!l->n)
        SR_FAIL(SR_ERR_CONFIG,
                "the shards hold no image; expected .jpg, .png, .webp, .tif or other image files");
    SrStatus status = resolve_words(l, class_names, &classes);
    if (status == SR_OK)
        status = label_words(l, &classes, class_names->n == 0);
    if (status == SR_OK)
        status = print_all(l, &classes, names_mark, summed, out);
    sr__string_list_deinit(&classes);
    return status;
}
