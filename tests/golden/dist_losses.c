// Runs golden cases dist_barlow, dist_dino and dist_deepcluster: losses over several replicas
// from their outputs. A recorded loss is that of one replica's rows; sslrun's is over all rows.
// Recorded gradients were taken before DistributedDataParallel divides them, so they are the
// number of replicas times sslrun's.
#include <stdio.h>
#include <string.h>

#include "measure/clusters/kmeans.h"
#include "tests/golden/images.h"
#include "tests/golden/loss_case.h"
#include "tests/golden/table.h"
#include "tests/golden/world.h"

enum { MAX_IMAGES = 4096 };

// Gathers the tensors r<replica>.<what><step> into one tensor with the rows of all replicas.
static SrStatus gather(SrGoldenCase *c, const char *what, int step, int views, float **out) {
    int64_t n = 0;
    int world = golden_world(c);
    *out = NULL;
    for (int r = 0; r < world; r++) {
        float *own = golden_floats(c, golden_replica_name(c, r, what, step), &n);
        if (!own)
            SR_FAIL(SR_ERR_RUN, "%s: no %s", c->name, golden_replica_name(c, r, what, step));
        if (!*out)
            *out = sr_arena_alloc(c->arena, (size_t)world * (size_t)n * sizeof **out);
        if (!*out)
            SR_FAIL(SR_ERR_MEMORY, "out of memory for %s", c->name);
        golden_world_move(world, *out, own, r, views, n, true);
    }
    return SR_OK;
}

static SrStatus compare_shares(LossCase *r, const char *what, int step, const float *world,
                               int views, int64_t floats) {
    int64_t n = floats / r->replicas;
    float *own = sr_arena_alloc(r->c->arena, (size_t)n * sizeof *own);
    if (!own)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %s", what);
    for (int k = 0; k < r->replicas; k++) {
        golden_world_move(r->replicas, (float *)world, own, k, views, n, false);
        for (int64_t i = 0; i < n; i++)
            own[i] *= (float)r->replicas;
        SR_TRY(golden_compare(r->c, golden_replica_name(r->c, k, what, step), own, n, GOLDEN_GRAD));
    }
    return SR_OK;
}

// Runs one step and compares it. output: the case's name of the model's output.
static SrStatus compare_step(LossCase *r, const char *output, const float *teacher, int step,
                             int64_t max_iterations) {
    char grad[32];
    double mean;
    float *x;
    snprintf(grad, sizeof grad, "grad_%s", output);
    SR_TRY(gather(r->c, output, step, r->n_views, &x));
    SR_TRY(loss_case_step(r, x, teacher, step, max_iterations));
    SR_TRY(golden_world_loss(r->c, step, &mean));
    SR_TRY(golden_number(r->c, "mean loss", loss_case_value(r), mean, GOLDEN_GRAD));
    return compare_shares(r, grad, step, loss_case_gradient(r), r->n_views,
                          sr_shape_count(r->shape));
}

// Opens a case whose model gives `output`, with `batch` images per replica.
static SrStatus open_case(SrGoldenCase *c, const char *loss, const char *name, const char *output,
                          int batch, LossCase *r) {
    const SrTensor *x = golden_tensor(c, golden_replica_name(c, 0, output, 0));
    if (!x || batch < 1)
        SR_FAIL(SR_ERR_RUN, "%s: no %s, or no batch", c->name,
                golden_replica_name(c, 0, output, 0));
    r->c = c;
    r->name = name;
    r->shape = x->shape;
    r->replicas = golden_world(c);
    r->shape.d[0] *= r->replicas;
    r->batch = r->replicas * batch;
    r->n_views = x->shape.d[0] / batch;
    SR_TRY(sr_loss_find(loss, &r->kind));
    return loss_case_open(r);
}

// ---- Barlow Twins

static SrStatus barlow(SrGoldenCase *c, LossCase *r) {
    SR_TRY(open_case(c, "barlow_twins_loss", "embedding", "out",
                     (int)golden_setting(c, "bs_per_replica", 0), r));
    for (int i = 0; golden_tensor(c, golden_replica_name(c, 0, "out", i)); i++)
        SR_TRY(compare_step(r, "out", NULL, i, 100));
    return SR_OK;
}

// ---- DINO

static SrStatus dino(SrGoldenCase *c, LossCase *r) {
    const SrTensor *t = golden_tensor(c, golden_replica_name(c, 0, "teacher", 0));
    int batch = (int)golden_setting(c, "bs_per_replica", 0),
        max = (int)golden_setting(c, "max_iteration", 0);
    if (!t || batch < 1)
        SR_FAIL(SR_ERR_RUN, "%s: no teacher, or no batch", c->name);
    r->teacher = t->shape;
    r->teacher.d[0] *= golden_world(c);
    r->teacher_name = "scores0";
    SR_TRY(open_case(c, "dino_loss", "scores0", "student", batch, r));
    for (int i = 0; golden_tensor(c, golden_replica_name(c, 0, "student", i)); i++) {
        float *teacher;
        SR_TRY(gather(c, "teacher", i, t->shape.d[0] / batch, &teacher));
        SR_TRY(compare_step(r, "student", teacher, i, max));
        const SrParam *center = sr_params_at(r->params, sr_params_find(r->params, "loss.center"));
        SR_TRY(golden_compare(c, sr_arena_printf(c->arena, "center%d", i), center->value,
                              r->shape.d[1], GOLDEN_GRAD));
    }
    return SR_OK;
}

// ---- DeepCluster: the memory of each replica is a share of sslrun's memory, batch by batch

typedef struct {
    LossCase *r;
    int banks, rows, dims; // sizes of one replica's memory
    int batch;             // images per replica
    int world;
} Memory;

static void *value(LossCase *r, const char *name) {
    return sr_params_at(r->params, sr_params_find(r->params, name))->value;
}

// Returns the row of sslrun's memory that holds row i of a replica's memory.
static int64_t place(const Memory *m, int replica, int64_t i) {
    return (i / m->batch * m->world + replica) * m->batch + i % m->batch;
}

static SrStatus fill_memory(const Memory *m) {
    float *ours = value(m->r, "loss.memory");
    int64_t *index = value(m->r, "loss.memory_index"), n;
    for (int k = 0; k < m->world; k++) {
        const char *name = sr_arena_printf(m->r->c->arena, "r%d.memory_init.index", k);
        const SrTensor *at = golden_tensor(m->r->c, name);
        const float *rows =
            golden_floats(m->r->c, sr_arena_printf(m->r->c->arena, "r%d.memory_init.emb", k), &n);
        if (!at || !rows)
            SR_FAIL(SR_ERR_RUN, "%s: no memory of replica %d", m->r->c->name, k);
        for (int64_t i = 0; i < m->rows; i++) {
            index[place(m, k, i)] = ((const int64_t *)at->data)[i];
            for (int b = 0; b < m->banks; b++)
                memcpy(ours + ((int64_t)b * m->world * m->rows + place(m, k, i)) * m->dims,
                       rows + ((int64_t)b * m->rows + i) * m->dims, (size_t)m->dims * sizeof *ours);
        }
    }
    return SR_OK;
}

static SrStatus compare_memory(const Memory *m, int step) {
    const float *ours = value(m->r, "loss.memory");
    int64_t n = (int64_t)m->banks * m->rows * m->dims;
    float *own = sr_arena_alloc(m->r->c->arena, (size_t)n * sizeof *own);
    for (int k = 0; own && k < m->world; k++) {
        for (int64_t i = 0; i < (int64_t)m->banks * m->rows; i++)
            memcpy(own + i * m->dims,
                   ours + (i / m->rows * m->world * m->rows + place(m, k, i % m->rows)) * m->dims,
                   (size_t)m->dims * sizeof *own);
        const char *name = sr_arena_printf(m->r->c->arena, "r%d.memory%d.emb", k, step);
        SR_TRY(golden_compare(m->r->c, name, own, n, GOLDEN_GRAD));
    }
    return SR_OK;
}

// Computes the clusters of one head as the loss does, from the recorded first rows of replica 0.
static SrStatus cluster(const Memory *m, const char *prefix, int head, int iterations) {
    SrGoldenCase *c = m->r->c;
    const SrTensor *init =
        golden_tensor(c, sr_arena_printf(c->arena, "%sinit_rows%d", prefix, head));
    int64_t N = (int64_t)m->world * m->rows, label[MAX_IMAGES], first[MAX_IMAGES];
    if (!init || N > MAX_IMAGES)
        SR_FAIL(SR_ERR_RUN, "%s: no first rows of head %d", c->name, head);
    int K = init->shape.d[0];
    for (int k = 0; k < K; k++)
        first[k] = place(m, 0, ((const int64_t *)init->data)[k]);
    SrRowView rows = {.n = N,
                      .d = m->dims,
                      .x = (float *)value(m->r, "loss.memory") + head % m->banks * N * m->dims};
    SrKmeansOptions o = {
        .k = K, .iterations = iterations, .spherical = true, .first = first, .keep_empty = true};
    SrKmeans km;
    SR_TRY(sr_kmeans(&o, &rows, &km));
    SrStatus status = sr_kmeans_assign(&km, &rows, label, NULL);
    memcpy(value(m->r, sr_arena_printf(c->arena, "loss.centroids%d", head)), km.centre,
           (size_t)K * (size_t)m->dims * sizeof(float));
    if (status == SR_OK)
        status = golden_compare(c, sr_arena_printf(c->arena, "%scentroids%d", prefix, head),
                                km.centre, (int64_t)K * m->dims, GOLDEN_GRAD);
    int64_t *out = (int64_t *)value(m->r, "loss.assignments") + head * N;
    const int64_t *index = value(m->r, "loss.memory_index");
    for (int64_t i = 0; i < N; i++)
        out[i] = -100; // value of images that are in no memory
    for (int64_t i = 0; i < N; i++)
        out[index[i]] = label[i];
    sr_kmeans_deinit(&km);
    return status;
}

static SrStatus cluster_all(const Memory *m, const char *prefix) {
    SrGoldenCase *c = m->r->c;
    const SrYaml *clusters = sr_yaml_find_path(c->config, "LOSS.deepclusterv2_loss.num_clusters");
    int heads = clusters ? clusters->n : 3,
        iterations = (int)golden_setting(c, "LOSS.deepclusterv2_loss.kmeans_iters", 10);
    int64_t n = (int64_t)heads * m->world * m->rows;
    float *ours = sr_arena_alloc(c->arena, (size_t)n * sizeof *ours);
    for (int k = 0; k < heads; k++)
        SR_TRY(cluster(m, prefix, k, iterations));
    for (int64_t i = 0; ours && i < n; i++)
        ours[i] = (float)((const int64_t *)value(m->r, "loss.assignments"))[i];
    return golden_compare(c, sr_arena_printf(c->arena, "%sassignments", prefix), ours, n, 1e-7);
}

// The recorded indices are view-major; the loss takes one index per image.
static SrStatus fill_index(const Memory *m, int step) {
    int64_t *index = sr_plan_input(m->r->plan, m->r->ctx.sample_index).data;
    for (int k = 0; k < m->world; k++) {
        const SrTensor *own = golden_tensor(m->r->c, golden_replica_name(m->r->c, k, "idx", step));
        if (!own)
            SR_FAIL(SR_ERR_RUN, "%s: no indices of step %d", m->r->c->name, step);
        memcpy(index + k * m->batch, own->data, (size_t)m->batch * sizeof *index);
    }
    return SR_OK;
}

static SrStatus deepcluster(SrGoldenCase *c, LossCase *r) {
    const SrTensor *t = golden_tensor(c, "r0.memory_init.emb");
    if (!t)
        SR_FAIL(SR_ERR_RUN, "%s: no memory", c->name);
    Memory m = {r,
                t->shape.d[0],
                t->shape.d[1],
                t->shape.d[2],
                (int)golden_setting(c, "LOSS.deepclusterv2_loss.BATCHSIZE_PER_REPLICA", 0),
                golden_world(c)};
    r->n_samples = (int64_t)m.world * m.rows;
    SR_TRY(open_case(c, "deepclusterv2_loss", "embedding", "out", m.batch, r));
    SR_TRY(fill_memory(&m));
    SR_TRY(cluster_all(&m, ""));
    for (int i = 0; golden_tensor(c, golden_replica_name(c, 0, "out", i)); i++) {
        SR_TRY(fill_index(&m, i));
        SR_TRY(compare_step(r, "out", NULL, i, 100));
        SR_TRY(compare_memory(&m, i));
    }
    return golden_tensor(c, "second_init_rows0") ? cluster_all(&m, "second_") : SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    LossCase r = {.c = c};
    SrStatus status = strncmp(c->name, "dist_barlow", 11) == 0 ? barlow(c, &r)
                      : strncmp(c->name, "dist_dino", 9) == 0  ? dino(c, &r)
                                                               : deepcluster(c, &r);
    loss_case_close(&r);
    return status;
}

const SrGolden sr_golden_dist_losses = {
    .prefixes = {"dist_barlow", "dist_dino", "dist_deepcluster"}, .run = run};
