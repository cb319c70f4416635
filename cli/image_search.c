// Opens the index of a search, embeds the query, and prints the nearest images.
#include "cli/image_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/escape.h"
#include "base/text/json.h"
#include "base/text/yaml_edit.h"
#include "cli/next.h"
#include "folder/nearest.h"
#include "pages/photos/photo_page.h"

// An index says what made it: a search needs no other model than that one.
static SrStatus model_of_index(SrSearchArgs *o, SrIndex *index, SrArena *arena) {
    const char *text = sr_index_description(index);
    SrYaml *tree;
    SR_TRY(sr_json_parse(arena, text, strlen(text), sr_index_file_path(index), &tree));
    const char *weights = sr_tree_text(tree, "weights", "");
    const char *layer = sr_tree_text(tree, "layer", "");
    const SrYaml *size = sr_yaml_find(tree, "size");
    o->folder.model = sr_tree_text(tree, "model", "");
    o->folder.layer = *layer ? layer : NULL;
    o->folder.weights = *weights ? weights : NULL;
    o->folder.size = size ? (int)size->i : 0;
    return SR_OK;
}

static SrStatus open_index(SrSearchArgs *o, SrArena *arena, SrFolder *folder, SrIndex **out) {
    if (o->data) {
        SR_TRY(sr_folder_open(&o->folder, folder));
        return sr_folder_index(folder, o->data, SR_LOOK_PLAIN, NULL, out);
    }
    SR_TRY(sr_index_open(o->folder.index, out));
    if (!o->folder.model)
        SR_TRY(model_of_index(o, *out, arena));
    o->folder.batch = 1; // the query alone is embedded
    SR_TRY(sr_folder_open(&o->folder, folder));
    return sr_nearest_check(folder->embedder, *out);
}

static void print_line(const SrSearchArgs *o, const SrIndex *index, const SrNear *near,
                       SrText *out) {
    const char *name = sr_index_name(index, near->row);
    double cosine = (double)near->similarity;
    if (o->json || sr_photo_files_any(&o->files)) {
        sr_json_begin(out);
        sr_json_string(out, "file", name);
        sr_json_float(out, "cosine", cosine);
        sr_json_end(out);
    } else if (o->csv) {
        sr_escape_csv(name, out);
        sr_text_printf(out, ",%.6f\n", cosine);
    } else if (o->null) {
        sr_text_addn(out, name, strlen(name) + 1);
    } else {
        sr_text_printf(out, "%.4f  ", cosine);
        sr_escape_line(name, out);
        sr_text_add(out, "\n");
    }
}

// One image more is searched for, since the query itself may be in the index.
static SrStatus search(const SrSearchArgs *o, const char *image, const SrFolder *folder,
                       const SrIndex *index, const SrCells *cells, SrText *out) {
    SrRect crop = {0, 0, 0, 0};
    char real[4096], other[4096];
    int k = (int)SR_MIN((int64_t)o->count + 1, sr_index_rows(index)), left = o->count;
    const SrNearestOptions options = {index, k, cells, o->probes};
    if (o->crop)
        SR_TRY(sr_rect_parse(o->crop, &crop));
    SrNear *near = sr_alloc((size_t)k * sizeof *near);
    SR_TRY_MEMORY(near, "%d images", k);
    SrStatus status =
        sr_nearest_to_file(folder->embedder, &options, image, o->crop ? &crop : NULL, near);
    bool known = realpath(image, real) != NULL;
    if (o->csv)
        sr_text_add(out, "file,cosine\n");
    for (int i = 0; status == SR_OK && i < k && left > 0 && near[i].row != UINT32_MAX; i++) {
        const char *name = sr_index_name(index, near[i].row);
        if (known && !o->crop && realpath(name, other) && strcmp(real, other) == 0)
            continue;
        print_line(o, index, &near[i], out);
        left--;
    }
    if (status == SR_OK && left == o->count)
        status = sr_fail(SR_ERR_CONFIG,
                         "%s is the only image of %s, so there is nothing to compare it with; add "
                         "images",
                         image, o->data ? "--in" : "the index");
    sr_free(near);
    return status;
}

static SrStatus check(const SrArgs *args, const SrSearchArgs *o, const char *usage) {
    SR_TRY(sr_photo_files_check(&o->files));
    if (o->null && (o->json || sr_photo_files_any(&o->files)))
        SR_FAIL(SR_ERR_CONFIG,
                "--null goes neither with --json nor with --page or --sheet: give one of them");
    if (o->csv && (o->json || o->null || sr_photo_files_any(&o->files)))
        SR_FAIL(SR_ERR_CONFIG, "--csv goes neither with --json and --null nor with --page and "
                               "--sheet: give one of them");
    if (args->n_names != 1 || args->n_overrides || (!o->data && !o->folder.index))
        SR_FAIL(SR_ERR_CONFIG, "%s", usage);
    if (o->count < 1)
        SR_FAIL(SR_ERR_CONFIG, "--count needs at least 1");
    if (!sr_file_exists(args->names[0]))
        SR_FAIL(SR_ERR_CONFIG, "%s: no such image", args->names[0]);
    if (sr_file_is_dir(args->names[0]))
        SR_FAIL(SR_ERR_CONFIG, "%s: expected an image that can be read", args->names[0]);
    return o->data ? sr_args_check_images("--in", o->data) : SR_OK;
}

SrStatus sr_image_search(const SrArgs *args, SrSearchArgs *o, const char *usage) {
    SrArena arena = SR_ARENA_INIT;
    SrFolder folder = {.embedder = NULL};
    SrIndex *index = NULL;
    SrCells *cells = NULL;
    SrText out = SR_TEXT_INIT;
    SR_TRY(check(args, o, usage));
    SrStatus status = open_index(o, &arena, &folder, &index);
    if (status == SR_OK && o->probes)
        status = sr_folder_cells(index, o->probes, &cells);
    if (status == SR_OK)
        status = search(o, args->names[0], &folder, index, cells, &out);
    sr_cells_close(cells);
    sr_index_close(index);
    sr_folder_close(&folder);
    sr_arena_deinit(&arena);
    if (status == SR_OK && sr_photo_files_any(&o->files))
        status = sr_photo_page_similar(&o->files, args->names[0], &out);
    SR_TRY(sr_photo_files_print(status, &o->files, o->json, &out));
    if (o->data && o->folder.model && !o->json && !o->csv && !o->null) {
        SrText next = SR_TEXT_INIT;
        sr_folder_next(&next, "groups the images of the folder that look alike", "duplicates",
                       o->data, &o->folder);
        sr_next_say(&next);
    }
    return SR_OK;
}
