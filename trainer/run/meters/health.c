// Measures a run's figures at the end of an epoch, and words the findings about them.
#include "trainer/run/meters/health.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "base/text/text.h"
#include "trainer/model/train_graph.h"
#include "trainer/optim/grad_clip.h"

// ---- figures

// Hashes the entries of the loss whose names contain `part`.  0: there is none.
static uint64_t hash_entries(SrParams *params, const char *part, bool learned) {
    uint64_t h = SR_HASH_START;
    bool any = false;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        if (!sr_text_starts(p->name, "loss.") || !strstr(p->name, part) ||
            (p->kind == SR_SLOT_PARAM) != learned)
            continue;
        size_t bytes = (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype);
        h = sr_hash_more(h, p->value, bytes);
        any = true;
    }
    return any ? h | 1 : 0;
}

// True while a queue is still empty by design: SwAV fills its queue from a certain step on.
static bool queue_waits(SrParams *params) {
    int index = sr_params_find(params, "loss.use_queue");
    if (index < 0)
        return false;
    const SrParam *p = sr_params_at(params, index);
    return p->dtype == SR_I64 ? *(const int64_t *)p->value == 0 : *(const float *)p->value == 0;
}

static bool same(uint64_t *before, uint64_t now) {
    bool still = now != 0 && *before == now;
    *before = now;
    return still;
}

static SrStatus count_prototypes(SrTensor x, SrHealthFigures *out) {
    int K = sr_shape_last(x.shape), rows = (int)(sr_shape_count(x.shape) / SR_MAX(K, 1));
    const float *s = x.data; // (rows, K)
    bool *used = sr_calloc((size_t)K + 1, sizeof *used);
    SR_TRY_MEMORY(used, "%d prototypes", K);
    for (int r = 0; r < rows; r++) {
        int best = 0;
        for (int k = 1; k < K; k++)
            best = s[(int64_t)r * K + k] > s[(int64_t)r * K + best] ? k : best;
        used[best] = true;
    }
    out->prototypes = K;
    out->score_rows = rows;
    for (int k = 0; k < K; k++)
        out->prototypes_used += used[k];
    sr_free(used);
    return SR_OK;
}

// Takes the model's first output of rank 2 that is not scores for embeddings: one row per image
// and view.
static SrStatus look_at_outputs(const SrStep *step, const SrLossStep *view, SrHealthFigures *out) {
    const SrTrainGraph *g = step->graph;
    int images = g->batch * SR_MAX(g->replicas, 1);
    if (g->loss_kind->needs_labels || g->loss_kind->rows_are_independent)
        return SR_OK;
    for (int i = 0; i < g->n_model_outputs; i++) {
        SrTensor x = sr_loss_value(view, g->outputs[i]);
        const char *name = g->output_names[i];
        bool scores = name && sr_text_starts(name, "scores");
        // Features of a transformer stay close together for long; the embeddings of the method do
        // not.
        if (name && strcmp(name, "pooled") == 0)
            continue;
        if (!x.data || x.dtype != SR_F32 || x.shape.rank != 2 || x.shape.d[0] % images != 0)
            continue;
        if (scores && out->prototypes == 0)
            SR_TRY(count_prototypes(x, out));
        if (scores || out->has_embeddings || images < 2)
            continue;
        SR_TRY(sr_representation_measure(x.data, x.shape.d[0] / images, images, x.shape.d[1],
                                         &out->embeddings));
        out->has_embeddings = true;
    }
    return SR_OK;
}

// Finds targets that are uniform to four digits, or whose mean row is a single prototype.
static void look_at_targets(SrHealth *health, const SrStep *step, const SrLossStep *view,
                            SrHealthFigures *out) {
    const SrTrainGraph *g = step->graph;
    SrLossHealth *t = &out->targets;
    if (g->loss_kind->health)
        g->loss_kind->health(g->loss_state, view, t);
    bool any = t->prototypes > 1;
    health->teacher_even = any && t->row_entropy > 0.9999 ? health->teacher_even + 1 : 0;
    health->teacher_single = any && t->mean_entropy < 0.001 ? health->teacher_single + 1 : 0;
    out->teacher_even = health->teacher_even;
    out->teacher_single = health->teacher_single;
}

static void look_at_loss(SrHealth *health, SrHealthFigures *out) {
    bool above = out->chance > 0 && out->loss_min > 1.1 * out->chance;
    health->above_chance = above ? health->above_chance + 1 : 0;
    out->above_chance = health->above_chance;
}

SrStatus sr_health_measure(SrHealth *health, const SrStep *step, const SrLossStep *view,
                           SrHealthFigures *out) {
    SrParams *params = step->params;
    out->loss = step->graph->loss_kind->subtree;
    out->grad_norm = sr_grad_clip(params, NULL, 2, INFINITY);
    out->teacher_still = same(&health->teacher, hash_entries(params, "encoder.", true));
    uint64_t queue = queue_waits(params) ? 0 : hash_entries(params, "queue", false);
    out->queue_still = same(&health->queue, queue);
    SR_TRY(look_at_outputs(step, view, out));
    look_at_targets(health, step, view, out);
    look_at_loss(health, out);
    health->one_prototype = out->prototypes_used == 1 ? health->one_prototype + 1 : 0;
    out->one_prototype = health->one_prototype;
    return SR_OK;
}

void sr_health_json(const SrHealthFigures *f, SrText *out) {
    sr_json_float(out, "grad_norm", f->grad_norm);
    if (f->has_embeddings) {
        sr_json_float(out, "embedding_deviation", f->embeddings.deviation);
        sr_json_float(out, "effective_rank", f->embeddings.effective_rank);
        sr_json_float(out, "uniformity", f->embeddings.uniformity);
        sr_json_int(out, "view_rows", f->embeddings.rows);
        if (f->embeddings.alignment >= 0) {
            sr_json_float(out, "alignment", f->embeddings.alignment);
            sr_json_float(out, "views_found", f->embeddings.views_found);
        }
    }
    if (f->prototypes > 0)
        sr_json_int(out, "prototypes_used", f->prototypes_used);
    if (f->targets.prototypes > 0) {
        sr_json_float(out, "teacher_entropy", f->targets.row_entropy);
        sr_json_float(out, "teacher_mean_entropy", f->targets.mean_entropy);
    }
    if (f->targets.clusters > 0)
        sr_json_int(out, "clusters_used", f->targets.clusters_used);
}

// ---- judgement

// Writes an override with another learning rate, relative to the current one.
static const char *rate(char text[160], double lr) {
    sr_number_print(text, 160,
                    "OPTIMIZER.param_schedulers.lr.name=cosine "
                    "OPTIMIZER.param_schedulers.lr.start_value=%.3g "
                    "OPTIMIZER.param_schedulers.lr.end_value=0",
                    lr);
    return text;
}

static SrHealthFinding *add(SrHealthFinding *out, int *n, const char *name) {
    out[*n].name = name;
    return &out[(*n)++];
}

#define SAY(name, ...) snprintf(add(out, &n, name)->text, sizeof out->text, __VA_ARGS__)

static int judge_outputs(const SrHealthFigures *f, SrHealthFinding *out, int n) {
    const SrRepresentation *e = &f->embeddings;
    char lr[160];
    if (f->has_embeddings && e->deviation < 0.01)
        SAY("collapse",
            "embeddings of different images are almost the same vector (deviation %.4f; 1 if they "
            "are spread): the learning rate is too high, or the loss has no term that keeps them "
            "apart; try %s",
            e->deviation, rate(lr, f->lr / 10));
    else if (f->has_embeddings && e->rows >= 16 && e->effective_rank < 1.5)
        SAY("low_rank",
            "embeddings vary in one direction only (effective rank %.2f of %d rows): the head has "
            "no batch norm, or the learning rate is too high; try "
            "MODEL.HEAD.PARAMS.0.1.use_bn=True, or %s",
            e->effective_rank, e->rows, rate(lr, f->lr / 3));
    // A model that has not learned yet gives every image nearly the same scores.
    if (f->prototypes >= 4 && f->score_rows >= 64 && f->one_prototype > 1)
        SAY("one_prototype",
            "all %d rows choose the same one of %d prototypes, as they did an epoch ago: the "
            "targets have collapsed; freeze prototypes for longer "
            "(MODEL.TEMP_FROZEN_PARAMS_ITER_MAP), or try %s",
            f->score_rows, f->prototypes, rate(lr, f->lr / 3));
    return n;
}

static int judge_targets(const SrHealthFigures *f, SrHealthFinding *out, int n) {
    const SrLossHealth *t = &f->targets;
    if (f->teacher_even > 2)
        SAY("teacher_even",
            "the teacher gives all %d prototypes the same share, in three consecutive epochs "
            "(entropy %.4f; 1 means equal shares): its targets carry no information; sharpen them, "
            "try %s.%s",
            t->prototypes, t->row_entropy, f->loss, t->sharper);
    if (f->teacher_single > 2)
        SAY("teacher_single",
            "the teacher chooses the same one of %d prototypes for all images in three consecutive "
            "epochs: centring or sharpening is too weak to keep targets apart; try %s.%s",
            t->prototypes, f->loss, t->more_even);
    if (t->clusters >= 4 && t->clusters_used * 10 <= t->clusters)
        SAY("few_clusters",
            "%d of %d clusters hold all images: the embeddings are concentrated in a few places; "
            "try %s.num_clusters=[%d], or a smaller learning rate",
            t->clusters_used, t->clusters, f->loss, SR_MAX(t->clusters / 10, 2));
    return n;
}

int sr_health_judge(const SrHealthFigures *f, SrHealthFinding out[SR_HEALTH_MAX]) {
    int n = 0;
    char lr[160];
    double near = 0.01 * f->chance;
    if (f->chance > 0 && f->loss_min >= f->chance - near && f->loss_max <= f->chance + near)
        SAY("trivial_loss",
            "the loss stayed within 1 %% of %.4f for the whole epoch: the model is not learning; "
            "try %s, fewer prototypes, or freeze them for longer",
            f->chance, rate(lr, f->lr * 3));
    // With moving targets the loss may be above chance for a while, but not for three epochs.
    if (f->above_chance > 2)
        SAY("worse_than_chance",
            "the loss stayed above %.4f, the loss of outputs without information, for three "
            "consecutive epochs: the outputs change faster than their targets; try %s",
            f->chance, rate(lr, f->lr / 5));
    if (!isfinite(f->grad_norm) || f->grad_norm > 1e4)
        SAY("gradients_explode",
            "the gradients' norm is %.3g: the learning rate is too high, or the loss divides by "
            "almost zero; try MODEL.GRAD_CLIP.USE_GRAD_CLIP=True, or %s",
            f->grad_norm, rate(lr, f->lr / 10));
    else if (f->grad_norm < 1e-8)
        SAY("gradients_vanish",
            "the gradients' norm is %.3g: the trainable parameters do not reach the loss, or all "
            "outputs are the same vector; look for frozen parameters "
            "(MODEL.NON_TRAINABLE_PARAMS=[])",
            f->grad_norm);
    if (f->teacher_still)
        SAY("teacher_still",
            "the teacher has not moved for an epoch: its momentum is 1, or the model does not "
            "learn; "
            "try %s.momentum=0.996",
            f->loss);
    if (f->queue_still)
        SAY("queue_stale",
            "the queue holds the same embeddings as an epoch ago: steps do not update it, or it is "
            "much longer than an epoch; try a shorter one (`sslrun describe %s` has its key)",
            f->loss);
    n = judge_targets(f, out, n);
    return judge_outputs(f, out, n);
}
