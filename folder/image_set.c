// Opens the images of a path through the data sets of data/sets.
#include "folder/image_set.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "data/dataset.h"
#include "data/decode.h"
#include "data/image_pool.h"

SrStatus sr_image_set_open(const char *path, SrImageSet *out) {
    *out = (SrImageSet){.n = 0};
    if (snprintf(out->path, sizeof out->path, "%s", path) >= (int)sizeof out->path)
        SR_FAIL(SR_ERR_CONFIG, "%s: the path is too long", path);
    const SrDatasetConfig config = {.split = "TEST",
                                    .data_path = out->path,
                                    .label_path = "",
                                    .remove_prefix = "",
                                    .new_prefix = "",
                                    .data_limit = -1};
    SR_TRY(sr_dataset_infer(path, "TRAIN", &out->source));
    SR_TRY(sr_dataset_open(out->source, &config, &out->set));
    out->n = out->source->length(out->set);
    out->classes = out->source->classes ? out->source->classes(out->set) : 0;
    return SR_OK;
}

void sr_image_set_close(SrImageSet *images) {
    if (images->source)
        sr_dataset_close(images->source, images->set);
    *images = (SrImageSet){.n = 0};
}

SrStatus sr_image_set_name(const SrImageSet *images, int64_t i, SrImagePool *pool,
                           const char **out) {
    if (images->source->path)
        return images->source->path(images->set, i, pool, out);
    enum { BYTES = 32 };
    char *name = sr_image_pool_take(pool, BYTES);
    SR_TRY_MEMORY(name, "a name");
    snprintf(name, BYTES, "image %lld", (long long)i);
    *out = name;
    return SR_OK;
}

SrStatus sr_image_set_read(const SrImageSet *images, int64_t i, SrImagePool *pool, SrImage *out) {
    SrSample sample = {.encoded = NULL};
    SR_TRY(images->source->read(images->set, i, pool, &sample));
    *out = sample.image;
    if (sample.encoded)
        return sr_image_open(sample.encoded, sample.encoded_bytes, out);
    return SR_OK;
}

SrStatus sr_image_set_decode(const SrImageSet *images, int64_t i, SrImagePool *pool, SrImage *out) {
    SR_TRY(sr_image_set_read(images, i, pool, out));
    return sr_image_finish(out, 1, pool);
}

int64_t sr_image_set_label(const SrImageSet *images, int64_t i) {
    return images->classes > 0 ? images->source->label(images->set, i) : -1;
}

const char *sr_image_set_class(const SrImageSet *images, int c) {
    const char *name =
        images->source->class_name ? images->source->class_name(images->set, c) : NULL;
    return name ? name : "";
}

SrStatus sr_image_set_stat(const char *name, int64_t *bytes, int64_t *mtime) {
    char path[4096];
    struct stat st;
    *bytes = *mtime = 0;
    if (snprintf(path, sizeof path, "%s", name) >= (int)sizeof path)
        return SR_OK;
    for (char *slash;; *slash = '\0') {
        bool found;
        SR_TRY(sr_file_look(path, &st, &found));
        if (found && S_ISREG(st.st_mode))
            break;
        if (!(slash = strrchr(path, '/')) || slash == path)
            return SR_OK;
    }
    *bytes = st.st_size;
    *mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return SR_OK;
}

// The slash between the last two parts of the name becomes an underscore, and the ending goes.
void sr_image_set_picture_path(const char *folder, const char *name, int64_t i,
                               char out[SR_PICTURE_PATH_BYTES]) {
    char part[512];
    const char *start = name + strlen(name);
    for (int slashes = 0; start > name; start--)
        if (start[-1] == '/' && ++slashes == 2)
            break;
    snprintf(part, sizeof part, "%.400s", start);
    char *dot = strrchr(part, '.');
    if (dot && dot > part)
        *dot = '\0';
    for (char *c = part; *c; c++)
        *c = *c == '/' || *c == ' ' ? '_' : *c;
    snprintf(out, SR_PICTURE_PATH_BYTES, "%.3000s/%06lld_%.500s.png", folder, (long long)i, part);
}
