// Builds a trunk's graph from a model's name or a configuration.  trunk_weights.c loads its
// weights, trainer/features/feature_source.c runs it.
#include "trainer/model/trunk_graph.h"

#include <string.h>

#include "base/file.h"
#include "base/text/text.h"
#include "graph/edit/surgery.h"
#include "graph/ir/builder.h"
#include "trainer/config/derived_config.h"

bool sr_trunk_is_config(const char *what) {
    const SrPreset *preset;
    return sr_preset_find(what, &preset) != SR_OK &&
           (strchr(what, '/') || sr_text_ends(what, ".yaml") || sr_text_ends(what, ".yml") ||
            sr_file_exists(what));
}

static SrStatus build_preset(SrTrunkGraph *t, SrBuilder *b, SrShape shape) {
    SrNodeId last;
    t->input = sr_build_input(b, "x", shape, SR_F32);
    SR_TRY(sr_builder_status(b));
    return sr_preset_build(t->preset, b, t->input, &last);
}

static SrStatus open_preset(SrTrunkGraph *t, SrShape shape) {
    SrBuilder *b;
    SR_TRY(sr_params_new(&t->params));
    SR_TRY(sr_graph_new(t->params, &t->graph));
    SR_TRY(sr_builder_new(t->graph, &b));
    SrStatus status = build_preset(t, b, shape);
    sr_builder_free(b);
    return status;
}

static SrStatus open_model(SrTrunkGraph *t, SrShape s) {
    SR_TRY(sr_model_new(t->config, &t->model));
    t->params = sr_model_params(t->model);
    return sr_model_build_trunk(t->model, s.d[0], s.d[1], s.d[2], &t->graph, &t->input);
}

static SrStatus open_any(SrTrunkGraph *t, const char *what, const char *const *overrides, int n,
                         SrShape shape) {
    if (sr_preset_find(what, &t->preset) != SR_OK && !sr_trunk_is_config(what))
        return sr_fail_prefix(SR_ERR_CONFIG, "%s is not a configuration file", what);
    if (t->preset && n > 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: a model takes no KEY=VALUE; use a configuration to set keys",
                what);
    if (t->preset) {
        SR_TRY(open_preset(t, shape));
    } else {
        SR_TRY(sr_config_load(what, overrides, n, &t->config));
        SR_TRY(open_model(t, shape));
    }
    return sr_graph_set_title(t->graph, what);
}

static SrStatus check_sizes(int batch, int height, int width) {
    if (batch < 1 || height < 1 || width < 1 || batch > 65536 || height > 65536 || width > 65536)
        SR_FAIL(SR_ERR_CONFIG,
                "a batch of %d images of %d x %d pixels is not possible; expected 1 to 65536 for "
                "each number",
                batch, height, width);
    return SR_OK;
}

SrStatus sr_trunk_graph_open(const char *what, const char *const *overrides, int n_overrides,
                             int batch, int height, int width, SrTrunkGraph *out) {
    *out = (SrTrunkGraph){.input = SR_NO_NODE};
    SR_TRY(check_sizes(batch, height, width));
    SrStatus status =
        open_any(out, what, overrides, n_overrides, SR_SHAPE(batch, height, width, 3));
    if (status != SR_OK)
        sr_trunk_graph_close(out);
    return status;
}

SrStatus sr_trunk_graph_parse(const char *config_text, const char *name, int batch, int height,
                              int width, SrTrunkGraph *out) {
    *out = (SrTrunkGraph){.input = SR_NO_NODE};
    SR_TRY(check_sizes(batch, height, width));
    SrStatus status = sr_config_parse_saved(config_text, name, &out->config);
    if (status == SR_OK)
        status = open_model(out, SR_SHAPE(batch, height, width, 3));
    if (status == SR_OK)
        status = sr_graph_set_title(out->graph, name);
    if (status != SR_OK)
        sr_trunk_graph_close(out);
    return status;
}

static SrStatus copy(const SrTrunkGraph *from, SrTrunkGraph *out) {
    if (from->config)
        SR_TRY(sr_config_copy(from->config, &out->config));
    SR_TRY(sr_params_new(&out->params));
    SR_TRY(sr_graph_copy(from->graph, out->params, &out->graph));
    out->input = sr_graph_find(out->graph, sr_graph_at(from->graph, from->input)->name);
    sr_params_set_trainable(out->params, "*", false);
    return sr_params_copy(out->params, from->params);
}

SrStatus sr_trunk_graph_copy(const SrTrunkGraph *from, SrTrunkGraph *out) {
    *out = (SrTrunkGraph){.preset = from->preset, .input = SR_NO_NODE};
    SrStatus status = copy(from, out);
    if (status != SR_OK)
        sr_trunk_graph_close(out);
    return status;
}

SrTrunkWeights sr_trunk_graph_weights(const SrTrunkGraph *t, const char *path) {
    return (SrTrunkWeights){.path = path,
                            .classifier = t->preset ? t->preset->classifier : "fc",
                            .channels = t->config ? t->config->channels : 3};
}

void sr_trunk_graph_close(SrTrunkGraph *t) {
    if (!t->model) { // otherwise the model owns both
        sr_graph_free(t->graph);
        sr_params_free(t->params);
    }
    sr_model_free(t->model);
    sr_config_free(t->config);
    *t = (SrTrunkGraph){.input = SR_NO_NODE};
}
