// Chooses the writer by the file name's ending and shows progress.
#include "formats/weights/save.h"

#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "formats/weights/npz_write.h"
#include "formats/weights/pth_write.h"

typedef struct {
    const SrSave *save;
    const int *index; // item of tensor i
} TensorsOnly;

static SrStatus read_tensor(void *arg, int i, const void **data) {
    TensorsOnly *t = arg;
    return t->save->read(t->save->arg, t->index[i], data);
}

static SrStatus save_safetensors(const char *path, const SrSave *save) {
    SrArena arena = SR_ARENA_INIT;
    size_t room = (size_t)save->n + 1;
    SrNamedTensor *tensors = sr_arena_alloc(&arena, room * sizeof *tensors);
    int *index = sr_arena_alloc(&arena, room * sizeof *index), n = 0;
    bool ok = tensors && index;
    for (int i = 0; ok && i < save->n; i++) {
        const SrSaveItem *item = &save->items[i];
        if (item->kind != SR_SAVE_TENSOR)
            continue;
        char *name = sr_arena_strdup(&arena, item->name);
        for (char *slash = name; slash && (slash = strchr(slash, '/'));)
            *slash = '.';
        ok = name;
        index[n] = i;
        tensors[n++] = (SrNamedTensor){name, {item->shape, item->dtype, NULL}};
    }
    TensorsOnly only = {save, index};
    const char *keys[] = {"format"}, *values[] = {"pt"};
    SrStatus status =
        ok ? sr_safetensors_save_from(path, tensors, n, keys, values, 1, read_tensor, &only)
           : sr_fail(SR_ERR_MEMORY, "%s: out of memory", path);
    sr_arena_deinit(&arena);
    return status;
}

static const struct {
    const char *ending;
    SrStatus (*save)(const char *path, const SrSave *save);
} endings[] = {{".safetensors", save_safetensors},
               {".pth", sr__pth_save},
               {".pt", sr__pth_save},
               {".torch", sr__pth_save},
               {".npz", sr__numpy_save}};

static int find_ending(const char *path) {
    for (int i = 0; i < SR_COUNT(endings); i++)
        if (sr_text_ends(path, endings[i].ending))
            return i;
    return -1;
}

SrStatus sr_save_check(const char *path) {
    if (find_ending(path) >= 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s: the format is not known; the name should end in .safetensors, .pth, .pt, .torch "
            "or .npz",
            path);
}

// ---- progress -----------------------------------------------------------------------------------

typedef struct {
    const SrSave *save;
    SrBar bar;
} Counted;

static SrStatus read_counted(void *arg, int i, const void **data) {
    Counted *c = arg;
    sr_bar_at(&c->bar, i);
    return c->save->read(c->save->arg, i, data);
}

SrStatus sr_save(const char *path, const SrSave *save) {
    SR_TRY(sr_save_check(path));
    Counted counted = {.save = save};
    SrSave through = *save;
    through.read = read_counted;
    through.arg = &counted;
    sr_bar_begin(&counted.bar, "tensors written", save->n);
    SrStatus status = endings[find_ending(path)].save(path, &through);
    sr_bar_end(&counted.bar);
    return status;
}
