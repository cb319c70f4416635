// Finds the model of a file of weights, and what a training from them has to know of it.
#include "pages/starter_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/names/naming.h"
#include "formats/weights/weights.h"
#include "trainer/model/trunk_graph.h"

// Takes the model from the names in the file where the caller gave none.
static SrStatus find_model(const char *model, SrStarterWeights *out) {
    SrWeights w;
    SrNaming naming;
    SR_TRY(sr_weights_open(&w, out->file));
    SrStatus status = sr_naming_open(&w, &naming);
    bool ours = status == SR_OK && strcmp(naming.writer, "sslrun") == 0; // may lie in w
    sr_weights_close(&w);
    SR_TRY(status);
    out->plain_names = naming.kind == SR_TRUNK_UNKNOWN;
    if (model)
        return sr_preset_find(model, &out->preset);
    if (*naming.trunk && !*naming.unlike && sr_preset_find(naming.trunk, &out->preset) == SR_OK)
        return SR_OK;
    if (ours)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: its trunk is no model with a name; to continue from this run, use its "
                "configuration with MODEL.WEIGHTS_INIT.PARAMS_FILE=%s, other DATA.TRAIN.DATA_PATHS "
                "and another CHECKPOINT.DIR",
                out->file, out->file);
    SR_FAIL(SR_ERR_CONFIG,
            "%s: its tensors do not tell the model; give it as MODEL:FILE, for example "
            "--from resnet18:%s (`sslrun list models` lists the names)",
            out->file, out->file);
}

static bool has_attention(const SrGraph *graph) {
    for (int i = 0; i < sr_graph_count(graph); i++) {
        const SrOp *op = sr_graph_at(graph, i)->op; // NULL: the input
        if (op && strcmp(op->name, "attention") == 0)
            return true;
    }
    return false;
}

// Compares the file with the model, and reads what the configuration needs from the model's graph.
static SrStatus look(SrTrunkGraph *trunk, SrStarterWeights *out) {
    SrText text = SR_TEXT_INIT;
    SrTrunkWeights source = sr_trunk_graph_weights(trunk, out->file);
    SrStatus status = sr_trunk_weights_compare(&source, trunk->params, &text);
    if (status != SR_OK && text.s && strchr(text.s, '\n'))
        status = sr_fail(
            SR_ERR_CONFIG,
            "%s is not complete for %s: %.*s; `sslrun inspect FILE --as %s` lists them", out->file,
            out->preset->name, (int)strcspn(text.s, "\n"), text.s, out->preset->name);
    sr_text_deinit(&text);
    SR_TRY(status);
    SrShape feature = sr_graph_at(trunk->graph, sr_graph_find(trunk->graph, "flatten"))->shape;
    out->width = feature.d[feature.rank - 1];
    out->attention = has_attention(trunk->graph);
    out->layer_rates = sr_preset_trunk(out->preset)->depth != NULL;
    return SR_OK;
}

SrStatus sr_starter_weights_open(const char *model, const char *file, SrStarterWeights *out) {
    SrTrunkGraph trunk;
    *out = (SrStarterWeights){.preset = NULL};
    if (!realpath(file, out->file))
        SR_FAIL(SR_ERR_CONFIG, "%s: no such file of weights", file);
    SR_TRY(find_model(model, out));
    int side = sr_preset_pixels(out->preset)->side;
    SR_TRY(sr_trunk_graph_open(out->preset->name, NULL, 0, 1, side, side, &trunk));
    SrStatus status = look(&trunk, out);
    sr_trunk_graph_close(&trunk);
    return status;
}
