// Runs a teacher that has a graph of its own, and gives its outputs to the plan of a step.
#include "trainer/run/teacher_feed.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/ir/print.h"
#include "graph/plan/plan_run.h"
#include "kernels/core/half.h"

static int64_t count_of(const SrTrainGraph *g, int output) {
    return sr_shape_count(sr_graph_at(g->teacher.graph, g->teacher.outputs[output])->shape);
}

SrStatus sr_teacher_feed_open(SrTeacherFeed *f, const SrTrainGraph *graph, SrPlan *step) {
    *f = (SrTeacherFeed){.graph = graph, .step = step};
    for (int i = 0; i < graph->teacher.n_outputs; i++)
        if (sr_plan_input(step, graph->teacher.inputs[i]).data) {
            f->outputs[f->n_outputs++] = i;
            f->values += count_of(graph, i);
        }
    f->half = sr_calloc((size_t)f->values + 1, sizeof *f->half);
    SR_TRY_MEMORY(f->half, "the outputs of a teacher");
    return SR_OK;
}

void sr_teacher_feed_close(SrTeacherFeed *f) {
    sr_plan_free(f->plan);
    sr_free(f->half);
    *f = (SrTeacherFeed){.graph = NULL};
}

SrFeedTarget sr_teacher_feed_target(const SrTeacherFeed *f) {
    return (SrFeedTarget){.plan = f->plan,
                          .inputs = f->graph->teacher.views,
                          .n_inputs = f->graph->teacher.n_views,
                          .labels = SR_NO_NODE,
                          .sample_index = SR_NO_NODE};
}

const uint16_t *sr_teacher_feed_run(SrTeacherFeed *f) {
    uint16_t *to = f->half;
    (void)sr_plan_forward(f->plan, 0); // in evaluation, where nothing is exchanged
    for (int i = 0; i < f->n_outputs; i++) {
        int64_t n = count_of(f->graph, f->outputs[i]);
        SrNodeId from = f->graph->teacher.outputs[f->outputs[i]];
        sr__half()->from_float(to, sr_plan_output(f->plan, from).data, n);
        to += n;
    }
    return f->half;
}

void sr_teacher_feed_give(const SrTeacherFeed *f, const uint16_t *values) {
    for (int i = 0; i < f->n_outputs; i++) {
        int64_t n = count_of(f->graph, f->outputs[i]);
        SrTensor to = sr_plan_input(f->step, f->graph->teacher.inputs[f->outputs[i]]);
        sr__half()->to_float(to.data, values, n);
        values += n;
    }
}

static uint64_t hash_params(const SrGraph *graph, uint64_t hash) {
    SrParams *params = sr_graph_params(graph);
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        for (int i = 0; i < node->n_w; i++) {
            const SrParam *p = sr_params_at(params, node->w[i]);
            hash = sr_hash_more(hash, p->name, strlen(p->name));
            hash = sr_hash_more(hash, p->value,
                                (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype));
        }
    }
    return hash;
}

SrStatus sr_teacher_feed_hash(const SrTeacherFeed *f, uint64_t *hash) {
    SrText text = SR_TEXT_INIT;
    SrStatus status = sr_graph_print(f->graph->teacher.graph, SR_GRAPH_JSON, &text);
    if (status == SR_OK) {
        *hash = sr_hash_more(*hash, text.s, text.len);
        *hash = sr_hash_more(*hash, f->outputs, (size_t)f->n_outputs * sizeof *f->outputs);
        *hash = hash_params(f->graph->teacher.graph, *hash);
    }
    sr_text_deinit(&text);
    return status;
}
