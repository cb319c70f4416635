// Every option of every trunk, transform and schedule, set to another legal value, changes what the plugin gives, or a
// line says that it changes nothing.  Loops over the registries: a new plugin's options are looked at before its author
// writes a line.  Not the keys of the sections (test_ignored.c, and the tests of those who read them).
//
// Values are tried one after the other, on all examples of a plugin, until one is taken and seen.  Where none can be
// guessed (lists of names, trees), the table `given` has one.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/data.h"
#include "data/pixels/pixel.h"
#include "graph/print.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"
#include "trainer/schedules/schedule.h"
#include "trunks/trunk.h"

// What cannot be guessed: a value, and what else must be set for it to be seen.
static const struct {
    const char *key, *value, *with;
} given[] = {
    {"ImgPilMultiCropRandomApply.transforms", "[{name: ImgPilRandomSolarize, prob: 1.0}]", NULL},
    {"ImgPilToMultiCrop.total_num_crops", "3", NULL},
    {"ImgPilToMultiCrop.num_crops", "[3]", NULL},
    {"ImgPilToMultiCrop.crop_scales", "[[0.5, 0.6]]", NULL},
    {"composite.schedulers", "[{name: constant, value: 0.3}, {name: constant, value: 0.2}]", NULL},
    {"composite.lengths", "[0.25, 0.75]", NULL},
    {"composite.interval_scaling", "[rescaled, fixed]", NULL},
    {"multistep.milestones", "[20, 60]", NULL},
    {"vgg.DEPTH", "13", NULL},
    {"vision_transformer.ATTENTION_DROPOUT_RATE", "0.5", NULL},
    {"vision_transformer.QK_SCALE", "-0.5", NULL},
    {"vision_transformer.MASKED_IMAGE_MODELING.NAME", "msn",
     "{MASKED_IMAGE_MODELING: {PARAMS: {drop_ratio: 0.5, global_view_tokens: 16}}}"},
    {"vision_transformer.MASKED_IMAGE_MODELING.PARAMS.drop_ratio", "0.5",
     "{MASKED_IMAGE_MODELING: {NAME: msn, PARAMS: {global_view_tokens: 16}}}"},
    {"vision_transformer.MASKED_IMAGE_MODELING.PARAMS.global_view_tokens", "16",
     "{MASKED_IMAGE_MODELING: {NAME: msn, PARAMS: {drop_ratio: 0.5}}}"},
    {"RandomErasing.value", "0.5", NULL},
    {"ShuffleImgPatches.perm_file", "none.npy", NULL},
    {"ShuffleImgPatches.num_patches", "8", NULL},
};

// A map in flow style on which the plugin is run: text of everything that can be seen of it.
typedef SrStatus See(const void *plugin, int example, const char *map, SrText *out);

static char log_dir[64], log_path[128];

static uint64_t hash_of(const void *bytes, size_t n) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return h;
}

static void add_hash(SrText *out, const void *bytes, size_t n) {
    sr_text_printf(out, "%llx ", (unsigned long long)hash_of(bytes, n));
}

// ---- values to try

// The i-th other value of a row whose value is `now`; false past the last.
static bool candidate(const char *name, const SrOption *o, const SrYaml *now, int i, SrText *out) {
    for (int g = 0; g < SR_COUNT(given); g++)
        if (strcmp(given[g].key, name) == 0)
            return i == 0 && (sr_text_add(out, given[g].value), true);
    const SrYaml *first = now->type == SR_YAML_LIST && now->n > 0 ? now->items[0] : now;
    double v = first->type == SR_YAML_INT || first->type == SR_YAML_FLOAT ? first->f : 0;
    bool list = o->type == SR_OPT_INTS || o->type == SR_OPT_FLOATS;
    int n = now->type == SR_YAML_LIST ? now->n : 1;
    switch (o->type) {
    case SR_OPT_BOOL: sr_text_add(out, now->b ? "false" : "true"); return i == 0;
    case SR_OPT_ENUM: {
        const char *word = o->choices;
        for (int k = 0; k < i && *word; k++) {
            word += strcspn(word, "|");
            word += *word == '|';
        }
        sr_text_printf(out, "%.*s", (int)strcspn(word, "|"), word);
        return *word != '\0';
    }
    case SR_OPT_INT:
    case SR_OPT_INT64:
    case SR_OPT_INTS:
    case SR_OPT_FLOAT:
    case SR_OPT_FLOATS: {
        bool whole = o->type == SR_OPT_INT || o->type == SR_OPT_INT64 || o->type == SR_OPT_INTS;
        const double tries[] = {v + 1, v * 2, v - 1, v / 2, v + 0.25, v * 4, v + 7, v - 0.25};
        if (i >= SR_COUNT(tries))
            return false;
        sr_text_add(out, list ? "[" : "");
        for (int k = 0; k < (list ? SR_MAX(n, 1) : 1); k++)
            sr_text_printf(out, "%s%.6g", k ? ", " : "", whole ? floor(tries[i]) : tries[i]);
        sr_text_add(out, list ? "]" : "");
        return true;
    }
    default: return false;
    }
}

// `base` with one key changed, in flow style.
static SrStatus changed_map(const char *base, const char *with, const char *key, const char *value,
                            SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *map = NULL, *more = NULL, *node = NULL;
    SrStatus status = sr_yaml_parse(&arena, base, strlen(base), "test", &map);
    if (status == SR_OK && with)
        status = sr_yaml_parse(&arena, with, strlen(with), "test", &more);
    if (status == SR_OK && more)
        status = sr_yaml_merge(&arena, map, more);
    if (status == SR_OK && value)
        status = sr_yaml_parse(&arena, value, strlen(value), "test", &node);
    if (status == SR_OK && node)
        status = sr_yaml_put_path(&arena, map, key, node);
    if (status == SR_OK)
        sr_yaml_print_flow(map, out);
    sr_arena_deinit(&arena);
    return status;
}

// ---- seeing

// What the plugin gives for a map, and the lines that were written meanwhile.
static SrStatus look(See *see, const void *plugin, int example, const char *map,
                     const SrOption *table, const char *name, SrText *out, char **log) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    size_t bytes;
    remove(log_path);
    CHECK_OK(sr_log_open(log_path));
    CHECK_OK(sr_yaml_parse(&arena, map, strlen(map), "test", &tree));
    SrStatus status = sr_options_report(table, tree, name, &arena);
    if (status == SR_OK)
        status = see(plugin, example, map, out);
    sr_log_close();
    CHECK_OK(sr_file_read(log_path, 1 << 22, log, &bytes));
    sr_arena_deinit(&arena);
    return status;
}

static bool is_given(const char *name, const SrOption *o) {
    char key[160];
    bool found = false;
    snprintf(key, sizeof key, "%s.%s", name, o->name);
    for (int g = 0; g < SR_COUNT(given); g++)
        found = found || strcmp(given[g].key, key) == 0;
    return found;
}

// One value on one example: seen, told, or refused as the only one possible.
static bool shows(See *see, const void *plugin, const char *name, const SrOption *table,
                  const SrOption *o, int example, const char *base, const char *with,
                  const char *value) {
    SrText a = SR_TEXT_INIT, b = SR_TEXT_INIT, before = SR_TEXT_INIT, after = SR_TEXT_INIT;
    char *log_a = NULL, *log_b = NULL;
    const char *last = strrchr(o->name, '.');
    last = last ? last + 1 : o->name;
    CHECK_OK(changed_map(base, with, o->name, NULL, &a));
    CHECK_OK(changed_map(base, with, o->name, value, &b));
    SrStatus was = look(see, plugin, example, a.s, table, name, &before, &log_a);
    SrStatus is = look(see, plugin, example, b.s, table, name, &after, &log_b);
    bool told = log_b && strstr(log_b, last) && (!log_a || !strstr(log_a, last));
    // A sum of other keys has one legal value, and a file may be missing: the error that names it is what is seen.
    bool named = strstr(sr_status_message(), last) || strstr(sr_status_message(), value);
    bool refused =
        was == SR_OK && is != SR_OK && named && (o->type == SR_OPT_IGNORED || is_given(name, o));
    bool seen = was == SR_OK && is == SR_OK &&
                strcmp(before.s ? before.s : "", after.s ? after.s : "") != 0;
    sr_text_deinit(&a);
    sr_text_deinit(&b);
    sr_text_deinit(&before);
    sr_text_deinit(&after);
    sr_free(log_a);
    sr_free(log_b);
    return told || refused || seen;
}

static const SrYaml *value_now(const char *base, const SrOption *o, SrArena *arena) {
    SrYaml *map = NULL, *usual = NULL;
    const char *text = o->initial ? o->initial : "null";
    CHECK_OK(sr_yaml_parse(arena, base, strlen(base), "test", &map));
    CHECK_OK(sr_yaml_parse(arena, text, strlen(text), "test", &usual));
    const SrYaml *there = sr_yaml_find_path(map, o->name);
    return there ? there : usual;
}

static bool option_shows(See *see, const void *plugin, const char *name, const SrOption *table,
                         const SrOption *o, int example, const char *base) {
    SrArena arena = SR_ARENA_INIT;
    char key[160];
    const char *with = NULL;
    bool found = false;
    snprintf(key, sizeof key, "%s.%s", name, o->name);
    for (int g = 0; g < SR_COUNT(given); g++)
        if (strcmp(given[g].key, key) == 0)
            with = given[g].with;
    const SrYaml *now = value_now(base, o, &arena);
    if (o->type == SR_OPT_IGNORED)
        found = shows(see, plugin, name, table, o, example, base, NULL, "[another]");
    for (int i = 0; !found && o->type != SR_OPT_IGNORED; i++) {
        SrText value = SR_TEXT_INIT;
        bool more = candidate(key, o, now, i, &value);
        found = more && shows(see, plugin, name, table, o, example, base, with, value.s);
        sr_text_deinit(&value);
        if (!more)
            break;
    }
    sr_arena_deinit(&arena);
    return found;
}

typedef struct {
    SrText missing; // names of options that nothing was seen of
    int n, options;
} Outcome;

// bases: one map an example.
static void try_table(See *see, const void *plugin, const char *name, const SrOption *table,
                      const char *const *bases, int n_bases, Outcome *out) {
    for (const SrOption *o = table; o && o->name; o++) {
        bool found = false;
        for (int e = 0; !found && e < n_bases; e++)
            found = option_shows(see, plugin, name, table, o, e, bases[e]);
        out->options++;
        if (!found && ++out->n < 100)
            sr_text_printf(&out->missing, "\n  %s.%s", name, o->name);
    }
}

static int set_up(void **state) {
    (void)state;
    temp_dir_make(log_dir);
    snprintf(log_path, sizeof log_path, "%s/log.txt", log_dir);
    sr_log_set_level(SR_LOG_ERROR);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    sr_log_set_level(SR_LOG_INFO);
    temp_dir_remove(log_dir);
    return 0;
}

static void finish(Outcome *out, int at_least) {
    if (out->n > 0)
        fail_msg("nothing is seen of %d of %d options, and nothing is said:%s", out->n,
                 out->options, out->missing.s);
    CHECK(out->options >= at_least);
    sr_text_deinit(&out->missing);
}

// ---- trunks: the graph, with a classifier, and how its parameters are drawn

static SrStatus see_trunk(const void *plugin, int example, const char *text, SrText *out) {
    const SrTrunk *t = plugin;
    SrArena arena = SR_ARENA_INIT;
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrYaml *map;
    SrTrunkOutput features;
    SrNodeId logits;
    int side = t->examples[example].side;
    void *options = sr_arena_alloc(&arena, t->params_bytes + 1);
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &map));
    SrStatus status = sr_options_parse(t->options, map, t->name, &arena, options);
    if (status == SR_OK) {
        CHECK_OK(sr_params_new(&params));
        CHECK_OK(sr_graph_new(params, &graph));
        CHECK_OK(sr_builder_new(graph, &b));
        SrTrunkInput in = {.image = sr_build_input(b, "x", SR_SHAPE(2, side, side, 3), SR_F32),
                           .mask = SR_NO_NODE};
        status = sr_trunk_build(t, b, options, &in, &features);
        if (status == SR_OK && t->classify && t->n_presets > 0)
            status = t->classify(b, options, &t->presets[0], &features, &logits);
        if (status == SR_OK)
            status = sr_builder_status(b);
        if (status == SR_OK)
            CHECK_OK(sr_graph_print(graph, SR_GRAPH_TABLE, out));
        for (int i = 0; status == SR_OK && i < sr_params_count(params); i++) {
            const SrInit *init = &sr_params_at(params, i)->init;
            sr_text_printf(out, "%d:%g ", (int)init->kind, init->value);
        }
        sr_builder_free(b);
        sr_graph_free(graph);
        sr_params_free(params);
    }
    sr_arena_deinit(&arena);
    return status;
}

static void test_trunks(void **state) {
    (void)state;
    Outcome out = {.n = 0};
    for (int i = 0; sr_trunk_at(i); i++) {
        const SrTrunk *t = sr_trunk_at(i);
        const char *bases[16];
        int n = SR_MIN(t->n_examples, SR_COUNT(bases));
        for (int e = 0; e < n; e++)
            bases[e] = t->examples[e].options ? t->examples[e].options : "{}";
        try_table(see_trunk, t, t->name, t->options, bases, n, &out);
    }
    finish(&out, 20);
}

// ---- transforms: pixels, sizes and labels of some draws

static SrStatus see_transform(const void *plugin, int example, const char *map, SrText *out) {
    const SrTransform *t = plugin;
    SrArena arena = SR_ARENA_INIT;
    SrImagePool *pool;
    SrPipeline *p;
    SrYaml *list;
    char text[2048];
    // The map's own brace closes the entry.
    snprintf(text, sizeof text, "[{name: Resize, size: [120, 110]}, %s{name: %s%s%s%s]",
             strcmp(t->name, "ShuffleImgPatches") == 0
                 ? "{name: ToTensor}, {name: ImgPatchesFromTensor}, "
             : t->takes_floats ? "{name: ToTensor}, "
             : example == 1    ? "{name: ImgReplicatePil}, "
                               : "",
             t->name, strlen(map) > 2 ? ", " : "", map + 1,
             t->takes_floats || t->gives_floats ? "" : ", {name: ToTensor}");
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &list));
    SrStatus status = sr_pipeline_new(list, "TRANSFORMS", &p);
    int n_views, h[64], w[64];
    SrStatus fits = status == SR_OK ? sr_pipeline_shape(p, &n_views, h, w) : status;
    if (status == SR_OK && fits != SR_OK)
        sr_pipeline_free(p);
    status = fits;
    if (status == SR_OK) {
        CHECK_OK(sr_image_pool_new(&pool));
        for (int64_t sample = 0; status == SR_OK && sample < 8; sample++) {
            int64_t label = -7;
            SrViews views = {.n = 1, .view = {fixture_image(pool, 60, 70, 9)}};
            SrTransformContext ctx = {
                .seed = 5, .epoch = 2, .sample = sample, .pool = pool, .label = &label};
            status = sr_pipeline_apply(p, &ctx, &views);
            for (int v = 0; status == SR_OK && v < views.n; v++) {
                const SrImage *x = &views.view[v];
                size_t n = (size_t)x->H * (size_t)x->W * 3;
                sr_text_printf(out, "%dx%d %lld ", x->H, x->W, (long long)label);
                add_hash(out, x->rgb ? (const void *)x->rgb : x->f, x->rgb ? n : n * sizeof(float));
            }
            sr_image_pool_reset(pool);
        }
        sr_image_pool_free(pool);
        sr_pipeline_free(p);
    }
    sr_arena_deinit(&arena);
    return status;
}

// Example 0 sees one view, example 1 two; options that must be there are given.
static void test_transforms(void **state) {
    (void)state;
    Outcome out = {.n = 0};
    for (int i = 0; sr_transform_at(i); i++) {
        const SrTransform *t = sr_transform_at(i);
        bool inner = strcmp(t->name, "ImgPilMultiCropRandomApply") == 0;
        const char *base =
            inner ? "{prob: [1, 0.5], transforms: [{name: ImgPilGaussianBlur}]}" : "{}";
        const char *bases[] = {base, base};
        try_table(see_transform, t, t->name, t->options, bases, 2, &out);
    }
    finish(&out, 40);
}

// ---- schedules: their course

static SrStatus see_schedule(const void *plugin, int example, const char *map, SrText *out) {
    const SrScheduleKind *kind = plugin;
    SrArena arena = SR_ARENA_INIT;
    SrSchedule *schedule;
    SrYaml *tree;
    char text[2048];
    (void)example;
    snprintf(text, sizeof text, "{name: %s%s%s", kind->name, strlen(map) > 2 ? ", " : "", map + 1);
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &tree));
    SrStatus status = sr_schedule_new(tree, "lr", 90, &arena, &schedule);
    for (int i = 0; status == SR_OK && i < 90; i++)
        sr_text_printf(out, "%.12g ", sr_schedule_value(schedule, i / 90.0));
    if (status == SR_OK)
        sr_text_printf(out, "%d", sr_schedule_per_epoch(schedule));
    sr_arena_deinit(&arena);
    return status;
}

// All keys at their defaults, which most kinds accept.
static void test_schedules(void **state) {
    (void)state;
    Outcome out = {.n = 0};
    for (int i = 0; sr_schedule_kind_at(i); i++) {
        const SrScheduleKind *kind = sr_schedule_kind_at(i);
        SrArena arena = SR_ARENA_INIT;
        SrText text = SR_TEXT_INIT;
        SrYaml *defaults;
        CHECK_OK(sr_options_defaults(kind->options, &arena, &defaults));
        sr_yaml_print_flow(defaults, &text);
        const char *base = strcmp(kind->name, "composite") == 0
                               ? "{schedulers: [{name: constant, value: 0.3}, {name: linear, "
                                 "start_value: 1.0, end_value: 0.0}], lengths: [0.5, 0.5], "
                                 "interval_scaling: [rescaled, rescaled]}"
                           : strcmp(kind->name, "cosine_warm_restart") == 0
                               ? "{start_value: 0.1, end_value: 0.01, restart_interval_length: "
                                 "0.25, wave_type: half, lr_multiplier: 0.5}"
                               : text.s;
        try_table(see_schedule, kind, kind->name, kind->options, &base, 1, &out);
        sr_text_deinit(&text);
        sr_arena_deinit(&arena);
    }
    finish(&out, 15);
}

#define logged(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(every_key, logged(test_trunks), logged(test_transforms), logged(test_schedules))
