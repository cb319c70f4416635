// Refuses training runs that would train or evaluate something else than was asked for.
#include "trainer/run/run_check.h"

#include <string.h>

#include "data/load/loader.h"
#include "data/pipeline.h"
#include "trainer/features/feature_source.h"

// Returns the name of a batch norm over a single row, or NULL.  The row is its own mean, with
// variance 0, so that the output is the same for all images.  torch.nn.BatchNorm refuses it with
// "Expected more than 1 value per channel when training".
static const char *single_row(const SrGraph *graph) {
    for (int i = 0; graph && i < sr_graph_count(graph); i++) {
        const SrNode *node = sr_graph_at(graph, i);
        bool trains = node->mode & SR_MODE_TRAIN && node->eval_from > 0;
        if (!node->op || strcmp(node->op->name, "batch_norm") != 0 || !trains)
            continue;
        if (sr_shape_count(node->shape) / sr_shape_last(node->shape) <= 1)
            return node->name;
    }
    return NULL;
}

SrStatus sr__run_check_norms(const SrRun *run) {
    const char *norm = single_row(run->graph.graph), *rest = single_row(run->tail.graph.graph);
    const SrLoader *loader = run->train.loader; // NULL: images are not looked at
    if ((norm || rest) && loader && sr_loader_samples(loader) == 1)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN has one image, so the batch norm %s gets one row, which has no "
                "statistics; give it two or more",
                norm ? norm : rest);
    if (norm)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN.BATCHSIZE_PER_REPLICA is %d, so the batch norm %s gets one row, which "
                "has no statistics; set it to 2 or more",
                run->batch, norm);
    if (rest)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN.DROP_LAST=False leaves a last batch of %d, so the batch norm %s gets "
                "one row, which has no statistics; set it to True, or change BATCHSIZE_PER_REPLICA",
                run->tail.batch, rest);
    return SR_OK;
}

// Checks the layer of the final evaluation now: it is used only after the last epoch, hours later.
SrStatus sr__run_check_layer(SrRun *run) {
    const SrConfig *c = run->config;
    if (!c->test_model || c->supervised || strcmp(c->knn.layer, "flatten") == 0)
        return SR_OK;
    SrStatus status =
        sr_feature_source_check(run->model, c->knn.layer, 1, run->train.h[0], run->train.w[0]);
    return status == SR_OK
               ? SR_OK
               : sr_fail_prefix(
                     status, "%s: NEAREST_NEIGHBOR.LAYER",
                     sr_yaml_place(sr_yaml_find_path(c->tree, "NEAREST_NEIGHBOR.LAYER")).text);
}

SrStatus sr_run_check_classes(const SrRun *run, const SrSplit *split, const char *which) {
    const SrTrainGraph *g = &run->graph;
    if (!run->config->supervised)
        return SR_OK;
    if (run->train.loader && split->n_targets != run->train.n_targets)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN and DATA.TEST have different kinds of labels: one class per image, or "
                "matrices with different numbers of columns; give both the same kind");
    if (run->train.loader &&
        sr_pipeline_classes(run->train.pipeline) != sr_pipeline_classes(split->pipeline))
        SR_FAIL(SR_ERR_CONFIG,
                "transforms (ImgRotatePil, ShuffleImgPatches) make the labels of DATA.TRAIN or of "
                "DATA.TEST only; give both the same transforms, or set TEST_MODEL=False");
    if (split->classes < 1)
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s: LOSS.name %s needs labels, but the images have none",
                which, run->config->loss_name);
    for (int i = 0; i < g->n_model_outputs; i++) {
        int scores = sr_shape_last(sr_graph_at(g->graph, g->outputs[i])->shape);
        if (scores < split->classes)
            SR_FAIL(SR_ERR_CONFIG,
                    "DATA.%s has %d classes, but output %d of the model has %d scores; set the "
                    "last number of `dims` in MODEL.HEAD.PARAMS to the number of classes",
                    which, split->classes, i, scores);
    }
    return SR_OK;
}
