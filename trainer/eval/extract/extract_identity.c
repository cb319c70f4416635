// Writes and compares the identity of an extraction.  Weights are identified by their loaded
// values, the model by its graph, images by names, sizes and times of their files.  A link that
// points elsewhere, an edited configuration or a folder with other images is another extraction.
#include "trainer/eval/extract/extract_identity.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/yaml_print.h"
#include "data/image_pool.h"
#include "graph/ir/print.h"

enum { PATH_BYTES = 4096 };

// Two sums of 32 bits over the same bytes, which never agree both by chance.
typedef struct {
    uLong crc, adler;
} Sum;
#define SUM_INIT \
    { 0, 1 }

static void sum_add(Sum *sum, const void *data, size_t bytes) {
    for (const Bytef *p = data; bytes > 0;) {
        uInt piece = (uInt)SR_MIN(bytes, (size_t)1 << 30); // zlib's lengths have 32 bits
        sum->crc = crc32(sum->crc, p, piece);
        sum->adler = adler32(sum->adler, p, piece);
        p += piece;
        bytes -= piece;
    }
}

static void sum_add_text(Sum *sum, const char *text) { sum_add(sum, text, strlen(text) + 1); }

static void put_sum(SrText *out, const char *key, const Sum *sum) {
    char text[17];
    snprintf(text, sizeof text, "%08lx%08lx", sum->crc & 0xFFFFFFFFu, sum->adler & 0xFFFFFFFFu);
    sr_json_string(out, key, text);
}

static void add_weights(const SrExtractIdentity *id, SrText *out) {
    Sum sum = SUM_INIT;
    SrParams *params = id->source->extraction.params;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        sum_add_text(&sum, p->name);
        sum_add(&sum, p->value, (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype));
    }
    put_sum(out, "weights_checksum", &sum);
}

static SrStatus add_model(const SrExtractIdentity *id, SrText *out) {
    Sum sum = SUM_INIT;
    SrText graph = SR_TEXT_INIT;
    SrStatus status = sr_graph_print(id->source->extraction.graph, SR_GRAPH_TABLE, &graph);
    if (status == SR_OK)
        sum_add_text(&sum, graph.s ? graph.s : "");
    put_sum(out, "model_checksum", &sum);
    out->failed = out->failed || graph.failed;
    sr_text_deinit(&graph);
    return status;
}

// Adds name, size and time of a file; the name alone if there is no such file.  SR_ERR_IO: the
// system cannot tell.
static SrStatus sum_add_file(Sum *sum, const char *path) {
    struct stat s;
    bool found = false;
    sum_add_text(sum, path);
    if (*path)
        SR_TRY(sr_file_look(path, &s, &found));
    if (found) {
        int64_t what[] = {s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
        sum_add(sum, what, sizeof what);
    }
    return SR_OK;
}

// Adds the files of a folder, for sources without a file per image (IDX, CIFAR).
static SrStatus sum_add_folder(Sum *sum, const char *dir) {
    char **names, path[PATH_BYTES];
    int n;
    SrStatus status = SR_OK;
    SR_TRY(sr_file_list(dir, &names, &n));
    for (int i = 0; status == SR_OK && i < n; i++) {
        status = sr_file_join(path, sizeof path, dir, names[i]);
        if (status == SR_OK)
            status = sum_add_file(sum, path);
    }
    sr_file_list_free(names, n);
    return status;
}

static SrStatus sum_add_images(const SrExtractIdentity *id, Sum *sum) {
    const SrSplit *split = id->split;
    SrImagePool *pool;
    const char *path;
    if (!split->source->path)
        return sr_file_is_dir(id->options->data) ? sum_add_folder(sum, id->options->data) : SR_OK;
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = SR_OK;
    for (int64_t i = 0; status == SR_OK && i < split->source->length(split->set); i++) {
        sr_image_pool_reset(pool);
        status = split->source->path(split->set, i, pool, &path);
        if (status == SR_OK)
            status = sum_add_file(sum, path);
    }
    sr_image_pool_free(pool);
    return status;
}

static SrStatus add_images(const SrExtractIdentity *id, SrText *out) {
    Sum sum = SUM_INIT;
    SR_TRY(sum_add_images(id, &sum));
    if (!sr_file_is_dir(id->options->data))
        SR_TRY(sum_add_file(&sum, id->options->data));
    if (id->options->labels)
        SR_TRY(sum_add_file(&sum, id->options->labels));
    put_sum(out, "images_checksum", &sum);
    return SR_OK;
}

// True for keys that only say where something came from.
static bool only_informs(const char *key) {
    return strcmp(key, "trunk") == 0 || strcmp(key, "overrides") == 0 ||
           strcmp(key, "weights") == 0;
}

static void add_origin(const SrExtractOptions *o, SrText *out) {
    SrText overrides = SR_TEXT_INIT;
    for (int i = 0; i < o->features.n_overrides; i++)
        sr_text_printf(&overrides, "%s%s", i ? " " : "", o->features.overrides[i]);
    sr_json_string(out, "trunk", o->features.trunk);
    sr_json_string(out, "overrides", overrides.s ? overrides.s : "");
    sr_json_string(out, "weights", o->features.weights ? o->features.weights : "");
    out->failed = out->failed || overrides.failed;
    sr_text_deinit(&overrides);
}

static SrStatus describe(const SrExtractIdentity *id, SrText *out) {
    const SrExtractOptions *o = id->options;
    SrText transforms = SR_TEXT_INIT;
    sr_yaml_print_flow(id->transforms, &transforms);
    sr_json_begin(out);
    add_origin(o, out);
    SR_TRY(add_model(id, out));
    add_weights(id, out);
    sr_json_string(out, "nodes", o->features.layers);
    sr_json_string(out, "transforms", transforms.s ? transforms.s : "");
    out->failed = out->failed || transforms.failed;
    sr_text_deinit(&transforms);
    sr_json_string(out, "data", o->data);
    sr_json_string(out, "split", o->test ? "test" : "train");
    sr_json_string(out, "labels", o->labels ? o->labels : "");
    SR_TRY(add_images(id, out));
    sr_json_int(out, "images", id->images);
    sr_json_int(out, "height", id->source->options.height);
    sr_json_int(out, "width", id->source->options.width);
    sr_json_int(out, "shard", id->shard);
    sr_json_string(out, "precision", id->source->bf16 ? "bf16" : "f32");
    sr_json_string(out, "layout", o->nhwc ? "nhwc" : "nchw");
    sr_json_string(out, "format", sr_extract_format_name(o->format));
    sr_json_end(out);
    return out->failed ? sr_out_of_memory("extract.json") : SR_OK;
}

static SrStatus differs(const SrExtractIdentity *id, const char *key, const SrYaml *there,
                        const SrYaml *now) {
    SrText a = SR_TEXT_INIT, b = SR_TEXT_INIT;
    if (there)
        sr_json_print(there, &a);
    sr_json_print(now, &b);
    SrStatus status = sr_fail(SR_ERR_CONFIG,
                              "%s holds another extraction: its %s is %.100s, but this one's is "
                              "%.100s; give another --out, or remove the folder",
                              id->options->out, key, a.s ? a.s : "not recorded", b.s ? b.s : "");
    sr_text_deinit(&a);
    sr_text_deinit(&b);
    return status;
}

static SrStatus compare(const SrExtractIdentity *id, const char *path, const SrText *text) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *there, *now;
    SrStatus status;
    SR_TRY_GOTO(sr_json_load(&arena, path, 1 << 20, &there));
    SR_TRY_GOTO(sr_json_parse(&arena, text->s, text->len, path, &now));
    for (int i = 0; i < now->n; i++) {
        const SrYaml *old = there->type == SR_YAML_MAP ? sr_yaml_find(there, now->keys[i]) : NULL;
        if (!only_informs(now->keys[i]) && (!old || !sr_yaml_equal(old, now->items[i])))
            SR_TRY_GOTO(differs(id, now->keys[i], old, now->items[i]));
    }
done:
    sr_arena_deinit(&arena);
    return status;
}

// Refuses a folder with features of unknown origin.
static SrStatus check_empty(const char *dir) {
    char **names;
    int n;
    bool found = false;
    SR_TRY(sr_file_list(dir, &names, &n));
    for (int i = 0; i < n; i++)
        found |= sr_text_glob("features-?????.safetensors", names[i]) ||
                 sr_text_glob("features-?????.npz", names[i]) ||
                 sr_text_glob("features-?????.csv", names[i]) ||
                 sr_text_glob("files-?????.npy", names[i]);
    sr_file_list_free(names, n);
    if (found)
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds features, but no extract.json that describes them; give another --out, "
                "or remove the folder",
                dir);
    return SR_OK;
}

SrStatus sr__extract_claim(const SrExtractIdentity *id) {
    char path[PATH_BYTES];
    SrText text = SR_TEXT_INIT;
    SR_TRY(sr_file_mkdirs(id->options->out));
    SR_TRY(sr_file_join(path, sizeof path, id->options->out, "extract.json"));
    bool there = sr_file_exists(path);
    SrStatus status = there ? SR_OK : check_empty(id->options->out);
    if (status == SR_OK)
        status = describe(id, &text);
    if (status == SR_OK)
        status = there ? compare(id, path, &text) : sr_file_write_text(path, &text);
    sr_text_deinit(&text);
    return status;
}
