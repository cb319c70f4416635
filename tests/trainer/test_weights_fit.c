// Tests how tensors of a file fit a model of another size: grids of position embeddings with and
// without tokens in front of them, dimensions of 1, and what does not fit.
#include <stdio.h>
#include <string.h>

#include "formats/weights/safetensors.h"
#include "formats/weights/weights.h"
#include "kernels/tokens/add_positions.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/model/weights_fit.h"

enum { D = 3, MOST = 2 + 25 };

static float value(int token, int d) { return (float)(token * token % 11) - (float)d / 4; }

// Reads a tensor of `from` tokens, (1, from, D), into (1, to, D).
static void read_positions(const char *name, int from, int to, float *out) {
    char dir[64], path[128];
    float x[MOST * D];
    SrWeights w;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    for (int i = 0; i < from * D; i++)
        x[i] = value(i / D, i % D);
    const SrNamedTensor file = {name, {SR_SHAPE(1, from, D), SR_F32, x}};
    CHECK_OK(sr_safetensors_save(path, &file, 1, NULL, NULL, 0));
    CHECK_OK(sr_weights_open(&w, path));
    CHECK(sr_weights_fits(name, SR_SHAPE(1, from, D), SR_SHAPE(1, to, D), 3));
    CHECK_OK(sr_weights_fit_read(&w, 0, name, out, SR_F32, SR_SHAPE(1, to, D)));
    sr_weights_close(&w);
    temp_dir_remove(dir);
}

// Tokens in front keep their values, and the rest is what the op makes of the grid.
static void check_positions(const char *name, int prefix, int from, int to, bool corners) {
    float x[MOST * D], got[MOST * D], want[MOST * D];
    const SrAddPositionsParams p = {.prefix = prefix,
                                    .from_h = from,
                                    .from_w = from,
                                    .to_h = to,
                                    .to_w = to,
                                    .align_corners = corners};
    int old = prefix + from * from, new = prefix + to *to;
    for (int i = 0; i < old * D; i++)
        x[i] = value(i / D, i % D);
    sr_add_positions_resample(&p, x, D, want);
    read_positions(name, old, new, got);
    for (int i = 0; i < new *D; i++)
        CHECK_NEAR(got[i], want[i], 0);
    for (int i = 0; i < prefix * D; i++)
        CHECK_NEAR(got[i], x[i], 0);
}

TEST(test_positions_of_another_grid) {
    check_positions("trunk.pos_embed", 1, 2, 4, false);
    check_positions("trunk.pos_embed", 1, 5, 3, false);
    check_positions("trunk.pos_embed", 0, 2, 3, false); // 4 and 9 tokens: no square plus one
    check_positions("trunk.pos_embed", 2, 3, 5, false); // a class token and a distillation token
    check_positions("encoder.pos_embedding", 1, 2, 4, true);
}

// Aligned corners keep the four embeddings in the grid's corners; others move them.
TEST(test_corners) {
    float got[MOST * D];
    read_positions("encoder.pos_embedding", 1 + 9, 1 + 25, got);
    static const int corners[][2] = {{1, 1}, {3, 5}, {7, 21}, {9, 25}}; // token before and after
    for (int i = 0; i < 4; i++)
        for (int d = 0; d < D; d++)
            CHECK_NEAR(got[corners[i][1] * D + d], value(corners[i][0], d), 1e-6);
    read_positions("trunk.pos_embed", 1 + 9, 1 + 25, got);
    CHECK(got[5 * D] != value(3, 0));
}

TEST(test_what_does_not_fit) {
    const char *name = "trunk.pos_embed";
    CHECK(!sr_weights_fits(name, SR_SHAPE(1, 5, D), SR_SHAPE(1, 7, D), 3));         // 7: no square
    CHECK(!sr_weights_fits(name, SR_SHAPE(1, 5, D), SR_SHAPE(1, 17, D + 1), 3));    // width
    CHECK(!sr_weights_fits("trunk.weight", SR_SHAPE(5, D), SR_SHAPE(17, D), 3));    // name
    CHECK(sr_weights_fits("gamma", SR_SHAPE(7, 1, 1), SR_SHAPE(7), 3));             // ones
    CHECK(!sr_weights_fits("stem", SR_SHAPE(8, 3, 2, 2), SR_SHAPE(8, 4, 2, 2), 3)); // channels
    CHECK(sr_weights_fits("stem", SR_SHAPE(8, 3, 2, 2), SR_SHAPE(8, 4, 2, 2), 4));
}

SR_TESTS(weights_fit, unit(test_positions_of_another_grid), unit(test_corners),
         unit(test_what_does_not_fit))
