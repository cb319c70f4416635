// Tests Jigsaw's patches and the permutations that shuffle them.
#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "data/augment/shared/permutations.h"
#include "data/image_pool.h"
#include "data/pipeline.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

static int distance(const SrPermutations *p, int a, int b) {
    int differ = 0;
    for (int i = 0; i < p->n; i++)
        differ += p->rows[a * p->n + i] != p->rows[b * p->n + i];
    return differ;
}

// Random permutations of 9 agree in one place on average (distance 8); 100 chosen ones are
// farther apart, and no two are equal.
TEST(test_permutations_are_far_apart) {
    SrArena arena = SR_ARENA_INIT;
    SrPermutations p;
    double sum = 0;
    int least = 9;
    CHECK_OK(sr__permutations_make(100, 9, &arena, &p));
    for (int a = 0; a < p.count; a++)
        for (int b = 0; b < a; b++) {
            sum += distance(&p, a, b);
            least = distance(&p, a, b) < least ? distance(&p, a, b) : least;
        }
    CHECK(least >= 1);
    CHECK(sum / (100 * 99 / 2) > 8.05);
    sr_arena_deinit(&arena);
}

TEST(test_all_permutations_can_be_had) {
    SrArena arena = SR_ARENA_INIT;
    SrPermutations p;
    CHECK_OK(sr__permutations_make(24, 4, &arena, &p));
    for (int a = 0; a < 24; a++)
        for (int b = 0; b < a; b++)
            CHECK(distance(&p, a, b) > 0);
    CHECK_INT(sr__permutations_make(25, 4, &arena, &p), SR_ERR_CONFIG);
    sr_arena_deinit(&arena);
}

// Writes a table of integers as NumPy does, and loads it.
static SrStatus load(const char *dir, const char *shape, const int64_t *v, int n, SrArena *arena,
                     SrPermutations *out) {
    char file[10 + 118 + 8 * 64] = "\x93NUMPY\1\0\166\0", head[118];
    snprintf(head, sizeof head, "{'descr': '<i8', 'fortran_order': False, 'shape': %s, }", shape);
    snprintf(file + 10, 119, "%-117s\n", head);
    memcpy(file + 128, v, (size_t)n * 8);
    return sr__permutations_load(fixture_write(dir, "p.npy", file, 128 + (size_t)n * 8), arena,
                                 out);
}

// Published tables count from 0 or from 1; each row must hold each number once.
TEST(test_permutations_of_a_file) {
    static const int64_t zero[] = {2, 0, 1, 0, 1, 2}, one[] = {3, 1, 2, 1, 2, 3},
                         twice[] = {2, 0, 1, 0, 0, 2}, beyond[] = {2, 0, 1, 0, 1, 3},
                         below[] = {2, 0, 1, -1, 1, 2};
    char dir[64];
    SrArena arena = SR_ARENA_INIT;
    SrPermutations p;
    temp_dir_make(dir);
    for (int k = 0; k < 2; k++) {
        CHECK_OK(load(dir, "(2, 3)", k ? one : zero, 6, &arena, &p));
        CHECK(p.count == 2 && p.n == 3);
        for (int i = 0; i < 6; i++)
            CHECK_INT(p.rows[i], zero[i]);
    }
    CHECK_FAILS(load(dir, "(2, 3)", twice, 6, &arena, &p), SR_ERR_CONFIG,
                "row 1 is not a permutation of 3 numbers");
    CHECK_FAILS(load(dir, "(2, 3)", beyond, 6, &arena, &p), SR_ERR_CONFIG, "row 1 is not");
    CHECK_FAILS(load(dir, "(2, 3)", below, 6, &arena, &p), SR_ERR_CONFIG, "row 1 is not");
    CHECK_FAILS(load(dir, "(6,)", zero, 6, &arena, &p), SR_ERR_CONFIG,
                "expected a table of integers with one permutation per row");
    sr_arena_deinit(&arena);
    temp_dir_remove(dir);
}

static SrPipeline *pipeline(SrArena *arena, const char *yaml) {
    SrYaml *list;
    SrPipeline *out;
    CHECK_OK(sr_yaml_parse(arena, yaml, strlen(yaml), "test", &list));
    CHECK_OK(sr_pipeline_new(list, "DATA.TRAIN.TRANSFORMS", &out));
    return out;
}

// The whole image is larger than the place for its patches in a batch. ToTensor and Normalize,
// fused, must not write it there.
TEST(test_patches_follow_normalize) {
    SrArena arena = SR_ARENA_INIT;
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrPipeline *p =
        pipeline(&arena, "[{name: Resize, size: [60, 60]}, {name: ToTensor}, {name: Normalize},"
                         " {name: ImgPatchesFromTensor, num_patches: 9, patch_jitter: 5},"
                         " {name: ShuffleImgPatches, num_permutations: 20}]");
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    CHECK_OK(sr_pipeline_shape(p, &n, h, w));
    CHECK_INT(n, 9);
    CHECK_INT(h[8], 15);
    static float place[9][15 * 15 * 3];
    SrViews views = {.n = 1};
    for (int v = 0; v < 9; v++) {
        views.out[v] = place[v];
        views.h[v] = views.w[v] = 15;
    }
    int64_t label = -1;
    SrTransformContext ctx = {.seed = 3, .pool = pool, .label = &label};
    views.view[0] = fixture_image(pool, 80, 70, 4);
    CHECK_OK(sr_pipeline_apply(p, &ctx, &views));
    CHECK_INT(views.n, 9);
    CHECK(label >= 0 && label < 20);
    for (int v = 0; v < 9; v++)
        CHECK(views.view[v].f && views.view[v].H == 15 && views.view[v].W == 15);
    sr_pipeline_free(p);
    sr_image_pool_free(pool);
    sr_arena_deinit(&arena);
}

// Every channel of every patch is normalised, so that a patch does not reveal the brightness of
// its neighbours.
TEST(test_patches_are_normalized) {
    SrArena arena = SR_ARENA_INIT;
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrPipeline *p =
        pipeline(&arena, "[{name: Resize, size: [30, 30]}, {name: ToTensor}, {name: Normalize},"
                         " {name: ImgPatchesFromTensor, num_patches: 9, patch_jitter: 2,"
                         " normalize_patches: True}]");
    static float place[9][8 * 8 * 3];
    SrViews views = {.n = 1};
    for (int v = 0; v < 9; v++) {
        views.out[v] = place[v];
        views.h[v] = views.w[v] = 8;
    }
    SrTransformContext ctx = {.seed = 3, .pool = pool};
    views.view[0] = fixture_image(pool, 80, 70, 4);
    CHECK_OK(sr_pipeline_apply(p, &ctx, &views));
    for (int i = 0; i < 9 * 3; i++) {
        double sum = 0, squares = 0;
        for (int j = 0; j < 64; j++) {
            double x = (double)views.view[i / 3].f[3 * j + i % 3];
            sum += x / 64;
            squares += x * x / 64;
        }
        CHECK_NEAR(sum, 0, 1e-5);
        CHECK_NEAR(squares, 1, 1e-3);
    }
    sr_pipeline_free(p);
    sr_image_pool_free(pool);
    sr_arena_deinit(&arena);
}

SR_TESTS(patches, cmocka_unit_test(test_permutations_are_far_apart),
         cmocka_unit_test(test_all_permutations_can_be_had),
         cmocka_unit_test(test_permutations_of_a_file),
         cmocka_unit_test(test_patches_follow_normalize),
         cmocka_unit_test(test_patches_are_normalized));
