// Indexes shards without an index: walks over tar headers and forms samples by WebDataset's rule.
#include "data/sets/shard_walk.h"

#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "data/image_kind.h"
#include "data/sets/shard_list.h"
#include "data/sets/tar_walk.h"

enum { MAX_LABEL_BYTES = 64 << 10, MAX_PATH_BYTES = 4096 };

// Returns the ending of an image's name from the last dot; NULL: no image.  Kinds that this build
// does not read count too: they are images that cannot be opened.
static const char *image_ending(const char *name) {
    int number;
    const char *dot = strrchr(name, '.');
    return dot && dot > name && sr__image_kind_find(name, &number) ? dot : NULL;
}

bool sr__shard_is_image(const char *name) { return image_ending(name) != NULL; }

// A sample, made of consecutive files: images from `first` on, and their class as text.
typedef struct {
    char key[SR_TAR_NAME_BYTES];
    int64_t first;
    char label[MAX_LABEL_BYTES + 1];
    bool labelled;
    bool plain;          // the image of the sample has been seen; others are masks and the like
    int64_t passed_over; // images left out so far, over all samples
} Sample;

// Length of the name up to the first dot after the last slash.
static size_t key_length(const char *name) {
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    return (size_t)(base - name) + strcspn(base, ".");
}

static SrStatus finish_sample(Sample *s, SrShardList *list) {
    for (int64_t i = s->first; s->labelled && i < sr__shard_list_length(list); i++)
        SR_TRY(sr__shard_list_label(list, i, s->label));
    s->labelled = s->plain = false;
    s->first = sr__shard_list_length(list);
    return SR_OK;
}

static SrStatus read_label(const SrTar *tar, const SrTarMember *m, Sample *s) {
    if (m->size > MAX_LABEL_BYTES)
        SR_FAIL(SR_ERR_CONFIG, "%s: the class in %s has %llu bytes, expected at most %d", tar->path,
                m->name, (unsigned long long)m->size, MAX_LABEL_BYTES);
    SR_TRY(sr__tar_read(tar->fd, tar->path, m->offset, s->label, (size_t)m->size));
    s->label[m->size] = 0;
    s->labelled = true;
    return SR_OK;
}

static SrStatus take_member(const SrTar *tar, const SrTarMember *m, Sample *s, SrShardList *list) {
    const char *slash = strrchr(m->name, '/'), *base = slash ? slash + 1 : m->name;
    size_t key = key_length(m->name);
    if (*base == '.' || !*base) // hidden files, such as macOS leaves next to every file
        return SR_OK;
    if (strncmp(s->key, m->name, key) != 0 || s->key[key]) {
        SR_TRY(finish_sample(s, list));
        memcpy(s->key, m->name, key);
        s->key[key] = 0;
    }
    if (strcmp(m->name + key, ".cls") == 0)
        return read_label(tar, m, s);
    const char *ending = image_ending(m->name);
    bool plain = ending == m->name + key;
    if (ending && s->plain)
        s->passed_over++;
    if (!ending || s->plain)
        return SR_OK;
    if (plain) {
        s->passed_over += sr__shard_list_length(list) - s->first;
        sr__shard_list_cut(list, s->first);
        s->plain = true;
    }
    return sr__shard_list_add(list, m->name, m->offset, m->size, 0);
}

static SrStatus walk_members(SrTar *tar, SrTarMember *m, Sample *s, SrShardList *list) {
    for (bool end = false;;) {
        SR_TRY(sr__tar_next(tar, m, &end));
        if (end)
            return finish_sample(s, list);
        SR_TRY(take_member(tar, m, s, list));
    }
}

static SrStatus walk_shard(const char *folder, const SrShardRow *row, SrShardList *list,
                           int64_t *passed_over) {
    char path[MAX_PATH_BYTES];
    SrTar tar;
    SR_TRY(sr_file_join(path, sizeof path, folder, row->name));
    SR_TRY(sr__shard_list_begin(list, row->name));
    SR_TRY(sr__tar_open(path, &tar));
    struct {
        Sample sample;
        SrTarMember member;
    } *room = sr_calloc(1, sizeof *room);
    SrStatus status = room ? SR_OK : sr_out_of_memory("the index of %s", path);
    if (room) {
        room->sample.first = sr__shard_list_length(list);
        status = walk_members(&tar, &room->member, &room->sample, list);
        *passed_over += room->sample.passed_over;
    }
    sr__shard_list_end(list, row->bytes, row->changed);
    sr_free(room);
    sr__tar_close(&tar);
    return status;
}

SrStatus sr__shard_walk(const char *folder, const SrShardRow *rows, int64_t n, SrShardList *list,
                        int64_t *passed_over) {
    *passed_over = 0;
    for (int64_t k = 0; k < n; k++)
        SR_TRY(walk_shard(folder, &rows[k], list, passed_over));
    return SR_OK;
}
