// The pipeline reads TRANSFORMS, a list of maps with a transform's name and options, and applies
// the transforms in order to all views of an image.
//
// Draws are keyed by the transform's place in the list, so they do not depend on the draws of other
// transforms.  The place of transform i inside transform s (ImgPilMultiCropRandomApply) is
// 32 * (s + 1) + i.
#include "data/pipeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "data/augment/normalize.h"
#include "data/decode.h"

#define MAX_STAGES 32 // keeps two levels of nesting within the generator's 16 bits of stage

// A transform with its parsed options; `stage` keys its random streams.
typedef struct {
    const SrTransform *transform;
    void *params;
    uint32_t stage;
    bool absorbed; // the transform before does the work of this one
} Stage;

struct SrPipeline {
    Stage stage[MAX_STAGES];
    int n;
    char where[96]; // for messages
    SrPixelForm form;
    SrArena arena; // of the outermost pipeline only
};

// Keys of VISSL's wrapper, which mean nothing with one source of images.
static const SrOption wrapper_keys[] = {
    {"indices", SR_OPT_IGNORED, 0, NULL,
     .help = "there is only one source of images, and transforms apply to all of it"},
    {"transform_type", SR_OPT_IGNORED, 0, NULL, .help = "transforms are found by name only"},
    SR_OPTION_END,
};

// Parses an entry; errors name its line and its place in the list.  problems: collects all wrong
// keys; NULL: the first wrong key is the error.
static SrStatus stage_parse(SrArena *arena, const SrYaml *entry, const char *where, int channels,
                            Stage *stage, SrProblems *problems) {
    const SrYaml *name = sr_yaml_find(entry, "name");
    if (!name || name->type != SR_YAML_STRING)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s: a transform is a map with a key `name`, found %s",
                sr_yaml_place(entry).text, where, sr_yaml_type_name(entry->type));
    SrStatus status = sr_transform_find(name->text, &stage->transform);
    if (status != SR_OK)
        return sr_fail_prefix(status, "%s: %s", sr_yaml_place(name).text, where);
    SrYaml *options = sr_yaml_copy(arena, entry);
    stage->params = sr_arena_alloc(arena, SR_MAX(stage->transform->params_bytes, 1));
    SR_TRY_MEMORY(options && stage->params, "%s", where);
    sr_yaml_remove(options, "name");
    for (const SrOption *key = wrapper_keys; key->name; key++)
        sr_yaml_remove(options, key->name);
    static const SrOption none[] = {SR_OPTION_END};
    const SrTransform *t = stage->transform;
    int known = problems ? problems->n : 0;
    SR_TRY(sr_options_parse_all(t->options ? t->options : none, options, where, arena,
                                stage->params, problems));
    if (problems && problems->n > known)
        return SR_OK; // errors that follow from wrong keys are not reported
    if (t->prepare)
        SR_TRY(t->prepare(stage->params, where, stage->stage, arena));
    status = t->check ? t->check(stage->params) : SR_OK;
    if (status == SR_OK && t->check_channels)
        status = t->check_channels(stage->params, sr_channels(channels));
    if (status != SR_OK)
        return sr_fail_prefix(status, "%s: %s", sr_yaml_place(entry).text, where);
    return SR_OK;
}

// Joins neighbours that are cheaper in one walk over the pixels than in two.
static void stages_join(SrPipeline *p) {
    for (int i = 0; i + 1 < p->n; i++) {
        const Stage *stage = &p->stage[i];
        Stage *next = &p->stage[i + 1];
        next->absorbed =
            !stage->absorbed && stage->transform->absorb &&
            stage->transform->absorb(stage->params, next->transform, next->params, next->stage);
    }
}

static SrStatus stages_parse(SrPipeline *p, const SrYaml *list, const char *where, uint32_t first,
                             SrArena *arena) {
    snprintf(p->where, sizeof p->where, "%s", where);
    if (!list || list->type == SR_YAML_NULL)
        return SR_OK;
    if (list->type != SR_YAML_LIST)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s is %s, expected a list of transforms",
                sr_yaml_place(list).text, where, sr_yaml_type_name(list->type));
    if (list->n > MAX_STAGES)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s has %d transforms, expected at most %d",
                sr_yaml_place(list).text, where, list->n, MAX_STAGES);
    for (; p->n < list->n; p->n++) {
        Stage *stage = &p->stage[p->n];
        stage->stage = first + (uint32_t)p->n;
        const SrYaml *name = sr_yaml_find(list->items[p->n], "name");
        const char *place =
            sr_arena_printf(arena, "%s[%d]%s%s", where, p->n, name && name->text ? "." : "",
                            name && name->text ? name->text : "");
        SR_TRY_MEMORY(place, "%s", where);
        SR_TRY(stage_parse(arena, list->items[p->n], place, p->form.channels, stage, NULL));
    }
    stages_join(p);
    return SR_OK;
}

// Refuses or leaves out what the form of the images asks for, in nested pipelines too.  Stages keep
// their numbers, so that the draws of the others stay.
static SrStatus stages_choose(SrPipeline *p, SrPixelForm form) {
    int n = 0;
    p->form = form;
    for (int i = 0; i < p->n; i++) {
        const SrTransform *t = p->stage[i].transform;
        bool color = t->pixels == SR_PIXELS_COLOR;
        if (color && form.skip_color)
            continue;
        if (form.channels > 0 && t->pixels != SR_PIXELS_ANY)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s[%u].%s works on RGB of 8 bits only, but DATA.CHANNELS and DATA.KEEP_BITS "
                    "ask for floats of %d channel%s; %s",
                    p->where, (unsigned)p->stage[i].stage % MAX_STAGES, t->name, form.channels,
                    form.channels == 1 ? "" : "s",
                    color ? "DATA.COLOR_TRANSFORMS=skip leaves such transforms out"
                          : "remove it from the list");
        if (t->inner)
            SR_TRY(stages_choose(t->inner(p->stage[i].params), form));
        p->stage[n++] = p->stage[i];
    }
    p->n = n;
    return SR_OK;
}

// Nested transforms work on bytes: ToTensor and Normalize belong to the outer list.
SrStatus sr__pipeline_nested(const SrYaml *list, const char *where, uint32_t stage, SrArena *arena,
                             SrPipeline **out) {
    if (stage >= MAX_STAGES * (MAX_STAGES + 1))
        SR_FAIL(SR_ERR_CONFIG, "%s: transforms are nested more than twice", where);
    *out = sr_arena_alloc(arena, sizeof **out);
    if (!*out)
        return sr_out_of_memory("%s", where);
    SR_TRY(stages_parse(*out, list, where, MAX_STAGES * (stage + 1), arena));
    for (int i = 0; i < (*out)->n; i++) {
        const SrTransform *t = (*out)->stage[i].transform;
        if (t->takes_floats || t->gives_floats)
            SR_FAIL(SR_ERR_CONFIG, "%s[%d].%s cannot stand inside another transform", where, i,
                    t->name);
    }
    return SR_OK;
}

SrStatus sr_pipeline_new(const SrYaml *transforms, const char *where, SrPipeline **out) {
    return sr_pipeline_new_for(transforms, where, (SrPixelForm){0}, out);
}

SrStatus sr_pipeline_new_for(const SrYaml *transforms, const char *where, SrPixelForm form,
                             SrPipeline **out) {
    *out = sr_calloc(1, sizeof **out);
    if (!*out)
        return sr_out_of_memory("%s", where);
    (*out)->form = form;
    SrStatus status = stages_parse(*out, transforms, where, 0, &(*out)->arena);
    if (status == SR_OK)
        status = stages_choose(*out, form);
    if (status != SR_OK) {
        sr_pipeline_free(*out);
        *out = NULL;
    }
    return status;
}

// Number of entries to look at.  Nesting ends at depth 4, and the parser refuses what is no list.
static int entries(const SrYaml *list, int depth) {
    return list && list->type == SR_YAML_LIST && depth < 4 ? list->n : 0;
}

typedef struct {
    const SrTransform *kind; // NULL: unknown name
    const char *at, *inside; // place of the entry, "DATA.TRAIN.TRANSFORMS[2].X", and of its list
} Place;

static SrStatus place_of(const SrYaml *list, int i, const char *where, SrArena *arena, Place *out) {
    const SrYaml *name = sr_yaml_find(list->items[i], "name");
    *out = (Place){.kind = NULL};
    if (!name || !name->text || sr_transform_find(name->text, &out->kind) != SR_OK)
        return SR_OK;
    out->at = sr_arena_printf(arena, "%s[%d].%s", where, i, out->kind->name);
    out->inside = sr_arena_printf(arena, "%s.transforms", out->at ? out->at : "");
    SR_TRY_MEMORY(out->at && out->inside, "%s", where);
    return SR_OK;
}

static SrStatus report(const SrYaml *list, const char *where, int depth, SrArena *arena) {
    for (int i = 0; i < entries(list, depth); i++) {
        const SrYaml *entry = list->items[i];
        Place place;
        SR_TRY(place_of(list, i, where, arena, &place));
        if (!place.kind)
            continue;
        SR_TRY(sr_options_report(place.kind->options, entry, place.at, arena));
        SR_TRY(sr_options_report(wrapper_keys, entry, place.at, arena));
        SR_TRY(report(sr_yaml_find(entry, "transforms"), place.inside, depth + 1, arena));
    }
    return SR_OK;
}

SrStatus sr_pipeline_report_ignored(const SrYaml *transforms, const char *where, SrArena *arena) {
    return report(transforms, where, 0, arena);
}

// The inner list is checked first: its errors are also errors of the outer transform, and a line is
// kept only once.
static SrStatus check(const SrYaml *list, const char *where, int depth, int channels,
                      SrArena *arena, SrProblems *problems) {
    for (int i = 0; i < entries(list, depth); i++) {
        const SrYaml *entry = list->items[i], *inner = sr_yaml_find(entry, "transforms");
        Stage stage = {.stage = (uint32_t)i};
        Place place;
        SR_TRY(place_of(list, i, where, arena, &place));
        if (!place.kind)
            continue;
        SR_TRY(check(inner, place.inside, depth + 1, channels, arena, problems));
        SR_TRY(sr_problems_keep(problems,
                                stage_parse(arena, entry, place.at, channels, &stage, problems)));
    }
    return SR_OK;
}

SrStatus sr_pipeline_check(const SrYaml *transforms, const char *where, SrPixelForm form,
                           SrArena *arena, SrProblems *problems) {
    return check(transforms, where, 0, form.channels, arena, problems);
}

SrPixelForm sr_pipeline_form(const SrPipeline *pipeline) { return pipeline->form; }

double sr_pipeline_mean(const SrPipeline *pipeline, int c) {
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->stage[i].transform->normalizes)
            return ((const SrNormalize *)pipeline->stage[i].params)->mean.v[c];
    return 0.5;
}

// Inner pipelines live in the outer one's arena and go with it.
void sr_pipeline_free(SrPipeline *pipeline) {
    if (!pipeline)
        return;
    sr_arena_deinit(&pipeline->arena);
    sr_free(pipeline);
}

SrStatus sr__pipeline_walk_shape(const SrPipeline *p, int *n, int h[SR_MAX_VIEWS],
                                 int w[SR_MAX_VIEWS]) {
    for (int i = 0; i < p->n; i++) {
        const SrTransform *t = p->stage[i].transform;
        SrStatus status = t->shape ? t->shape(p->stage[i].params, n, h, w) : SR_OK;
        if (status != SR_OK)
            return sr_fail_prefix(status, "%s[%d].%s", p->where, i, t->name);
    }
    return SR_OK;
}

// Pixels are bytes before ToTensor and floats after it.
static SrStatus check_kinds(const SrPipeline *p) {
    bool floats = false;
    for (int i = 0; i < p->n; i++) {
        const SrTransform *t = p->stage[i].transform;
        if (t->takes_floats != floats)
            SR_FAIL(SR_ERR_CONFIG, "%s[%d].%s must stand %s ToTensor", p->where, i, t->name,
                    floats ? "before" : "after");
        floats = floats || t->gives_floats;
    }
    if (!floats)
        SR_FAIL(SR_ERR_CONFIG, "%s has no ToTensor: add {name: ToTensor} and Normalize at its end",
                p->where);
    return SR_OK;
}

// Computes the sizes of the views of files that are side x side.  side 0: files of any size.
static SrStatus shape_from(const SrPipeline *pipeline, int side, int *n, int h[SR_MAX_VIEWS],
                           int w[SR_MAX_VIEWS]) {
    *n = 1;
    h[0] = w[0] = side;
    return sr__pipeline_walk_shape(pipeline, n, h, w);
}

// VISSL's configurations for data sets of square images end in Resize with one number.  If two
// squares give one size, all squares do; the loader refuses images that are not square.
static SrStatus shape_of_squares(const SrPipeline *pipeline, int *n, int h[SR_MAX_VIEWS],
                                 int w[SR_MAX_VIEWS]) {
    int other_n, other_h[SR_MAX_VIEWS], other_w[SR_MAX_VIEWS];
    SR_TRY(shape_from(pipeline, 64, n, h, w));
    SR_TRY(shape_from(pipeline, 256, &other_n, other_h, other_w));
    for (int v = 0; v < *n; v++)
        if (h[v] != other_h[v] || w[v] != other_w[v])
            SR_FAIL(
                SR_ERR_CONFIG,
                "%s leaves view %d in the size of its file, but the images of a batch need equal "
                "sizes; add RandomResizedCrop, CenterCrop, or Resize with [height, width]",
                pipeline->where, v);
    return SR_OK;
}

SrStatus sr_pipeline_shape(const SrPipeline *pipeline, int *n, int h[SR_MAX_VIEWS],
                           int w[SR_MAX_VIEWS]) {
    SR_TRY(check_kinds(pipeline));
    SR_TRY(shape_from(pipeline, 0, n, h, w));
    for (int v = 0; v < *n; v++)
        if (h[v] < 1 || w[v] < 1)
            return shape_of_squares(pipeline, n, h, w);
    return SR_OK;
}

// Extras are announced for the final sizes: after a transform with extras no other may change
// views.
SrStatus sr_pipeline_extras(const SrPipeline *pipeline, SrExtras *out) {
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    out->n = 0;
    SR_TRY(sr_pipeline_shape(pipeline, &n, h, w));
    for (int i = 0; i < pipeline->n; i++) {
        const SrTransform *t = pipeline->stage[i].transform;
        SrStatus status = t->extras ? t->extras(pipeline->stage[i].params, n, h, w, out) : SR_OK;
        if (status != SR_OK)
            return sr_fail_prefix(status, "%s[%d].%s", pipeline->where, i, t->name);
        if (out->n > 0 && !t->extras && t->shape)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s[%d].%s changes views after another transform has made the tensor '%s' of "
                    "them; put it before that transform",
                    pipeline->where, i, t->name, out->v[0].name);
    }
    return SR_OK;
}

int sr_pipeline_classes(const SrPipeline *pipeline) {
    int classes = 0; // the last label stays
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->stage[i].transform->classes)
            classes = pipeline->stage[i].transform->classes(pipeline->stage[i].params);
    return classes;
}

int sr_pipeline_targets(const SrPipeline *pipeline) {
    int targets = 0;
    for (int i = 0; i < pipeline->n; i++)
        if (pipeline->stage[i].transform->targets)
            targets = pipeline->stage[i].transform->targets(pipeline->stage[i].params);
    return targets;
}

bool sr_pipeline_is_fixed(const SrPipeline *pipeline) {
    for (int i = 0; i < pipeline->n; i++)
        if (!pipeline->stage[i].transform->fixed)
            return false;
    return true;
}

static bool is_last(const SrPipeline *pipeline, int i) {
    while (++i < pipeline->n && pipeline->stage[i].absorbed)
        continue;
    return i == pipeline->n;
}

// The pipeline is only read: threads may share it, each with its own context and pool.
SrStatus sr_pipeline_apply(const SrPipeline *pipeline, const SrTransformContext *ctx,
                           SrViews *views) {
    SrTransformContext context = *ctx;
    for (int i = 0; i < pipeline->n; i++) {
        const Stage *stage = &pipeline->stage[i];
        if (stage->absorbed)
            continue;
        for (int v = 0; v < views->n && !stage->transform->takes_encoded; v++)
            SR_TRY(sr_image_finish(&views->view[v], 1, ctx->pool));
        context.stage = stage->stage;
        context.last = is_last(pipeline, i);
        SR_TRY(stage->transform->apply(stage->params, &context, views));
    }
    return SR_OK;
}
