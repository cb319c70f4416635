// Runs golden cases data2vec_*, dinov2_*, masked_siamese_*, simdino_* and *_distillation_* of
// features and patches, recorded by tests/parity/losses.py: the loss and the gradients from outputs
// of a student and a teacher.
#include <string.h>

#include "tests/golden/given_loss.h"

typedef struct {
    const char *prefix, *loss;
    GivenOutput student[GIVEN_MAX], teacher[GIVEN_MAX];
    bool masks;
} Method;

static const Method methods[] = {
    {"data2vec_",
     "data2vec_loss",
     {{.name = "tokens", .tensor = "tokens"}},
     {{.name = "block0", .tensor = "block0"}, {.name = "block1", .tensor = "block1"}},
     true},
    {"dinov2_gram_",
     "dinov2_loss",
     {{.name = "scores0", .tensor = "scores"},
      {.name = "patch_scores", .tensor = "patch"},
      {.name = "pooled", .tensor = "pooled"},
      {.name = "map", .tensor = "map"}},
     {{.name = "scores0", .tensor = "t_scores"},
      {.name = "patch_scores", .tensor = "t_patch"},
      {.name = "map", .tensor = "t_map"}},
     true},
    {"dinov2_",
     "dinov2_loss",
     {{.name = "scores0", .tensor = "scores"},
      {.name = "patch_scores", .tensor = "patch"},
      {.name = "pooled", .tensor = "pooled"}},
     {{.name = "scores0", .tensor = "t_scores"}, {.name = "patch_scores", .tensor = "t_patch"}},
     true},
    {"masked_siamese_",
     "masked_siamese_loss",
     {{.name = "scores", .tensor = "scores"}, {.name = "tokens", .tensor = "tokens"}},
     {{.name = "scores", .tensor = "t_scores"}},
     false},
    {"feature_distillation_",
     "feature_distillation_loss",
     {{.name = "embedding", .tensor = "embedding"}},
     {{.name = "embedding", .tensor = "t_embedding"}},
     false},
    {"simdino_",
     "simdino_loss",
     {{.name = "embedding", .tensor = "embedding"}},
     {{.name = "embedding", .tensor = "t_embedding"}},
     false},
    {"patch_distillation_",
     "patch_distillation_loss",
     {{.name = "pooled", .tensor = "pooled"}, {.name = "map", .tensor = "map"}},
     {{.name = "pooled", .tensor = "t_pooled"}, {.name = "map", .tensor = "t_map"}},
     false},
    {"dense_distillation_blocks_",
     "dense_distillation_loss",
     {{.name = "map", .tensor = "map"}},
     {{.name = "map", .tensor = "t_map"},
      {.name = "normed0", .tensor = "t_normed0"},
      {.name = "normed1", .tensor = "t_normed1"}},
     false},
    {"dense_distillation_map_",
     "dense_distillation_loss",
     {{.name = "map", .tensor = "map"}},
     {{.name = "map", .tensor = "t_map"}},
     false},
};

static int number(const SrGoldenCase *c, const char *key) {
    const SrYaml *node = sr_yaml_find(c->values, key);
    return node ? (int)node->i : 0;
}

static SrStatus compare(GivenLoss *g) {
    int64_t n;
    const float *loss = golden_floats(g->c, "loss", &n);
    SR_TRY(given_loss_open(g));
    SR_TRY(given_loss_step(g, "", 0, 0));
    SR_TRY(golden_number(g->c, "loss", given_loss_value(g), (double)*loss, 2e-5));
    return given_loss_compare_gradients(g, "grad", "", 5e-5);
}

static SrStatus run(SrGoldenCase *c) {
    const Method *m = methods;
    while (strncmp(c->name, m->prefix, strlen(m->prefix)) != 0)
        m++;
    GivenLoss g = {.c = c,
                   .batch = number(c, "batch"),
                   .n_views = number(c, "views"),
                   .step = "",
                   .n_masks = m->masks ? number(c, "masks") : 0,
                   .side = number(c, "side"),
                   .grid = number(c, "grid")};
    memcpy(g.student, m->student, sizeof g.student);
    memcpy(g.teacher, m->teacher, sizeof g.teacher);
    SR_TRY(sr_loss_find(m->loss, &g.kind));
    SrStatus status = compare(&g);
    given_loss_close(&g);
    return status;
}

const SrGolden sr_golden_token_losses = {
    .prefixes = {"data2vec_", "dinov2_", "masked_siamese_", "feature_distillation_",
                 "patch_distillation_", "dense_distillation_", "simdino_"},
    .run = run};
