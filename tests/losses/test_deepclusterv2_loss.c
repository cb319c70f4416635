// Tests the clustering of deepclusterv2_loss before an epoch: which rows it groups, whose clusters
// the images get, when it runs, and the targets that a step takes from it.
#include "tests/check.h"

#include "tests/trainer/tiny_model.h"

enum { N = TINY_SAMPLES, D = 8, BATCH = 8, HEADS = 3 };
static const int clusters[HEADS] = {4, 3, 5}, sizes[] = {16, 16};
static const int crop_of[HEADS] = {1, 0, 1}; // crops_for_mb [1, 0] serve the heads in turn
static int passes;

// Writes the embedding of a view of an image, of length 1.
static void embedding(int image, int crop, float z[D]) {
    double sum = 0;
    for (int d = 0; d < D; d++) {
        z[d] = (float)sin(1.0 + 1.7 * image + 0.9 * image * d + 2.3 * crop * (d + 1));
        sum += (double)z[d] * (double)z[d];
    }
    for (int d = 0; d < D; d++)
        z[d] = (float)((double)z[d] / sqrt(sum));
}

// Gives all images once, in an order that is not theirs.
static SrStatus pass(const SrEpoch *epoch, SrStatus (*rows)(void *arg, const SrEpochRows *),
                     void *arg) {
    TinyModel *t = epoch->run;
    float *z = sr_loss_value(&epoch->step, sr_graph_find(t->graph.graph, "loss.normalize")).data;
    passes++;
    for (int first = 0; first < N; first += BATCH) {
        int64_t index[BATCH];
        for (int i = 0; i < BATCH; i++) {
            index[i] = (5 * (first + i) + 3) % N;
            for (int crop = 0; crop < 2; crop++)
                embedding((int)index[i], crop, z + (crop * BATCH + i) * D);
        }
        SR_TRY(rows(arg, &(SrEpochRows){epoch->step, index, BATCH, BATCH}));
    }
    return SR_OK;
}

static void before_epoch(TinyModel *t, int number) {
    SrEpoch epoch = {sr_step_view(&t->step, t->iteration, number), N, pass, t};
    CHECK_OK(t->graph.loss_kind->before_epoch(t->graph.loss_state, &epoch));
}

// Returns the centroid with the largest cosine to the image's row in the memory of a head.
static int nearest(TinyModel *t, int head, int image) {
    char name[40];
    snprintf(name, sizeof name, "loss.centroids%d", head);
    const float *centre = tiny_model_param(t, name)->value; // (K, D)
    float z[D];
    int best = 0;
    double most = -2;
    embedding(image, crop_of[head], z);
    for (int k = 0; k < clusters[head]; k++) {
        double cosine = 0, square = 0;
        for (int d = 0; d < D; d++) {
            cosine += (double)z[d] * (double)centre[k * D + d];
            square += (double)centre[k * D + d] * (double)centre[k * D + d];
        }
        CHECK_NEAR(square, 1, 1e-5);
        if (cosine > most)
            most = cosine, best = k;
    }
    return best;
}

static void start(TinyModel *t) {
    CHECK_OK(tiny_model_start(t, TINY_TRUNK ", HEAD: {PARAMS: [[mlp, {dims: [32, 8]}]]}",
                              "name: deepclusterv2_loss, deepclusterv2_loss: {num_clusters: [4, 3, "
                              "5], num_crops: 2, memory_params: {embedding_dim: 8, crops_for_mb: "
                              "[1, 0]}}",
                              BATCH, 2, sizes));
    passes = 0;
}

// Each head groups the rows of its own crop, and each image gets the nearest centroid.
TEST(test_images_get_the_nearest_centroid) {
    TinyModel t;
    start(&t);
    before_epoch(&t, 0);
    const int64_t *of = tiny_model_param(&t, "loss.assignments")->value; // (HEADS, N)
    for (int head = 0; head < HEADS; head++)
        for (int image = 0; image < N; image++)
            CHECK_INT(of[head * N + image], nearest(&t, head, image));
    CHECK_INT(*(const int64_t *)tiny_model_param(&t, "loss.position")->value, 0);
    tiny_model_close(&t);
}

// The first epoch fills the memory by a pass; later ones group what training left in it. An epoch
// that a resumed run begins again keeps its clusters.
TEST(test_an_epoch_is_clustered_once) {
    TinyModel t;
    start(&t);
    int64_t *of = tiny_model_param(&t, "loss.assignments")->value;
    before_epoch(&t, 0);
    CHECK_INT(passes, 1);
    for (int i = 0; i < HEADS * N; i++)
        of[i] = 0;
    before_epoch(&t, 0);
    for (int i = 0; i < HEADS * N; i++)
        CHECK_INT(of[i], 0);
    *(int64_t *)tiny_model_param(&t, "loss.position")->value = 7;
    before_epoch(&t, 1);
    CHECK_INT(passes, 1);
    CHECK_INT(*(const int64_t *)tiny_model_param(&t, "loss.position")->value, 0);
    for (int head = 0; head < HEADS; head++)
        for (int image = 0; image < N; image++)
            CHECK_INT(of[head * N + image], nearest(&t, head, image));
    tiny_model_close(&t);
}

// Row r of a step's targets is the cluster of image r % BATCH. Rows without an image have -100,
// which the cross entropy ignores.
TEST(test_targets_of_a_step) {
    TinyModel t;
    start(&t);
    before_epoch(&t, 0);
    const int64_t *of = tiny_model_param(&t, "loss.assignments")->value;
    int64_t *index = sr_plan_input(t.plan, t.graph.sample_index).data;
    for (int i = 0; i < BATCH; i++)
        index[i] = (7 * i + 9) % N;
    index[2] = index[5] = -1;
    tiny_model_step(&t, 0);
    for (int head = 0; head < HEADS; head++) {
        char name[40];
        snprintf(name, sizeof name, "loss.targets%d", head);
        const int64_t *target =
            sr_plan_input(t.plan, sr_graph_find(t.graph.graph, name)).data; // (2 * BATCH)
        for (int r = 0; r < 2 * BATCH; r++) {
            int i = r % BATCH;
            CHECK_INT(target[r], i == 2 || i == 5 ? -100 : of[head * N + (7 * i + 9) % N]);
        }
    }
    tiny_model_close(&t);
}

// The first centres are drawn with SEED_VALUE.
TEST(test_seed) {
    float centre[2][4 * D];
    for (int seed = 0; seed < 2; seed++) {
        TinyModel t;
        CHECK_OK(tiny_model_start_of(
            &t, &(TinyWorld){.model = TINY_TRUNK ", HEAD: {PARAMS: [[mlp, {dims: [32, 8]}]]}",
                             .loss = "name: deepclusterv2_loss, deepclusterv2_loss: {num_clusters: "
                                     "[4], num_crops: 2, kmeans_iters: 0, memory_params: "
                                     "{embedding_dim: 8}}",
                             .batch = BATCH,
                             .replicas = 1,
                             .n_views = 2,
                             .sizes = sizes,
                             .seed = seed}));
        before_epoch(&t, 0);
        memcpy(centre[seed], tiny_model_param(&t, "loss.centroids0")->value, sizeof centre[seed]);
        tiny_model_close(&t);
    }
    CHECK(memcmp(centre[0], centre[1], sizeof centre[0]) != 0);
}

// There can be as many clusters as images, and 16 heads.
TEST(test_limits) {
    static const struct {
        const char *clusters, *says;
    } cases[] = {
        {"[64]", NULL},
        {"[65]", "num_clusters[0] is 65, but there are 64 images"},
        {"[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 64]", NULL},
        {"[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]", "num_clusters has 17 entries"},
        {"[]", "num_clusters has 0 entries"},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        TinyModel t;
        char loss[256];
        snprintf(loss, sizeof loss,
                 "name: deepclusterv2_loss, deepclusterv2_loss: {num_clusters: %s, num_crops: 2, "
                 "memory_params: {embedding_dim: 8}}",
                 cases[i].clusters);
        SrStatus status = tiny_model_open(
            &t, TINY_TRUNK ", HEAD: {PARAMS: [[mlp, {dims: [32, 8]}]]}", loss, BATCH, 2, sizes);
        if (cases[i].says)
            CHECK_FAILS(status, SR_ERR_CONFIG, cases[i].says);
        else
            CHECK_OK(status);
        tiny_model_close(&t);
    }
}

SR_TESTS(deepclusterv2_loss, unit(test_images_get_the_nearest_centroid),
         unit(test_an_epoch_is_clustered_once), unit(test_targets_of_a_step), unit(test_limits),
         unit(test_seed))
