// Tests gradients of whole methods (trunk, heads and decoder) against central differences in
// double precision, for each parameter of the tiny model of an example of the loss.
#include "tests/check.h"

#include "base/compiler.h"
#include "tests/graph/gradients.h"
#include "tests/trainer/tiny_model.h"

enum { MOST = 32 };

// Checks on two images. Inputs keep the values that the hooks of one step wrote. heads: replaces
// the heads of the example where a batch norm over two images would only measure rounding.
static void check_options(const char *name, int example, const char *options, const char *heads,
                          int gradients) {
    const SrLoss *loss;
    TinyModel t;
    SrNodeId inputs[MOST];
    int n = 0;
    CHECK_OK(sr_loss_find(name, &loss));
    SrLossExample e = loss->examples[example];
    e.heads = heads ? heads : e.heads;
    options = options ? options : e.options ? e.options : "{}";
    CHECK_OK(tiny_model_start_batch(&t, loss, &e, options, 1, 2));
    tiny_model_step(&t, 0);
    for (SrNodeId id = 0; id < sr_graph_count(t.graph.graph); id++)
        if (!sr_graph_at(t.graph.graph, id)->op && sr_plan_input(t.plan, id).data && n < MOST)
            inputs[n++] = id;
    *(float *)sr_plan_seed(t.plan, t.graph.loss) = 1;
    GradientCheck c = {.graph = t.graph.graph,
                       .params = sr_model_params(t.model),
                       .plan = t.plan,
                       .inputs = inputs,
                       .outputs = &t.graph.loss,
                       .n_inputs = n,
                       .n_outputs = 1};
    CHECK_INT(gradients_check(&c), gradients);
    tiny_model_close(&t);
}

static void check_example(const char *name, int example, const char *heads, int gradients) {
    check_options(name, example, NULL, heads, gradients);
}

static void check_method(const char *name, const char *heads, int gradients) {
    check_example(name, 0, heads, gradients);
}

TEST(test_mae) { check_method("mae_loss", NULL, 49); }

TEST(test_ijepa) { check_method("ijepa_loss", NULL, 49); }

TEST(test_data2vec) { check_method("data2vec_loss", NULL, 33); }

TEST(test_dinov2) {
    check_method("dinov2_loss", NULL, 39);
    check_example("dinov2_loss", 1, NULL, 39); // with Gram anchoring
}

TEST(test_masked_siamese) {
    check_method("masked_siamese_loss",
                 "[[msn_head, {in_dim: 16, hidden_dim: 16, output_dim: 8, "
                 "num_prototypes: 12, use_bn: False}]]",
                 37);
}

// The teacher's side of the cross entropy has no gradient, so the teacher stays fixed.
TEST(test_dino) { check_method("dino_loss", NULL, 67); }

TEST(test_align_uniform) { check_method("align_uniform_loss", NULL, 66); }

// The weight of 200 and a batch norm over two images leave a bias rounding errors as its gradient.
TEST(test_empssl) { check_method("empssl_loss", "[[mlp, {dims: [32, 16]}]]", 62); }

TEST(test_frossl) { check_method("frossl_loss", NULL, 66); }

// The deviation that scales the embeddings is a constant for the gradient, and differences see it
// move: this term is checked as an op, and against PyTorch.
TEST(test_visreg) {
    check_options("visreg_loss", 0, "{slices: 16, shape_weight: 0}", "[[mlp, {dims: [32, 16]}]]",
                  62);
}

TEST(test_simdino) { check_method("simdino_loss", NULL, 66); }

// The teacher does not learn, so only the student and its projection have gradients.
TEST(test_feature_distillation) { check_method("feature_distillation_loss", NULL, 62); }

TEST(test_patch_distillation) { check_method("patch_distillation_loss", NULL, 64); }

TEST(test_dense_distillation) { check_method("dense_distillation_loss", NULL, 32); }

SR_TESTS(loss_gradient, unit(test_mae), unit(test_ijepa), unit(test_data2vec), unit(test_dinov2),
         unit(test_masked_siamese), unit(test_dino), unit(test_align_uniform), unit(test_empssl),
         unit(test_frossl), unit(test_visreg), unit(test_simdino), unit(test_feature_distillation),
         unit(test_patch_distillation), unit(test_dense_distillation))
