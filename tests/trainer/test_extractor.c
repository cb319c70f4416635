// Tests feature extractors: a cut graph gives the values of the whole one, and folded norms do
// too. Weights load under every naming, and an error lists all tensors that do not fit.
#include "trainer/model/extractor.h"

#include "base/mem.h"
#include "formats/safetensors.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"
enum { MAX_TENSORS = 256 };

static SrExtractorOptions options(const char *nodes, const char *weights) {
    return (SrExtractorOptions){.trunk = CONFIG,
                                .batch = 3,
                                .height = 16,
                                .width = 12,
                                .nodes = nodes,
                                .mode = SR_MODE_EVAL,
                                .weights = weights,
                                .seed = 5};
}

// Draws batch norms that change their input; one seed gives the same norms.
static void stir_norms(SrParams *params) {
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        if (p->shape.rank != 1 || p->dtype != SR_F32)
            continue;
        float *v = p->value;
        for (int k = 0; k < p->shape.d[0]; k++)
            v[k] = 0.5f + 0.1f * (float)((i * 7 + k * 3) % 11);
    }
}

// Contents of a weights file: the table's tensors under prefix + torchvision's name.
typedef struct {
    SrArena arena;
    SrNamedTensor tensors[MAX_TENSORS];
    int n;
} Weights;

static void weights_of(SrParams *params, const char *prefix, Weights *out) {
    *out = (Weights){.n = 0};
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        const char *bare = p->name + strlen("trunk._feature_blocks.");
        out->tensors[out->n++] = (SrNamedTensor){sr_arena_printf(&out->arena, "%s%s", prefix, bare),
                                                 {p->shape, p->dtype, p->value}};
    }
}

static void fill_input(SrExtractor *e) {
    SrTensor x = sr_extractor_input(e);
    for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
        ((float *)x.data)[i] = sinf((float)i * 0.37f);
}

static void check_same(const SrExtractor *a, int i, const SrExtractor *b, int j, double tolerance) {
    SrTensor x = sr_extractor_output(a, i), y = sr_extractor_output(b, j);
    CHECK(sr_shape_equal(x.shape, y.shape));
    double most = 1e-30;
    for (int64_t k = 0; k < sr_shape_count(x.shape); k++)
        most = fmax(most, fabs((double)((float *)x.data)[k]));
    for (int64_t k = 0; k < sr_shape_count(x.shape); k++)
        CHECK_NEAR(((float *)x.data)[k], ((float *)y.data)[k], tolerance * most);
}

typedef struct {
    char dir[64], path[128];
    Weights weights;
    SrExtractor whole; // the trunk whose weights are in the file
} Fixture;

static void begin(Fixture *f, const char *prefix) {
    SrExtractorOptions o = options("flatten", NULL);
    o.keep_norms = true;
    CHECK_OK(sr_extractor_open(&o, &f->whole));
    stir_norms(f->whole.extraction.params);
    weights_of(f->whole.extraction.params, prefix, &f->weights);
    temp_dir_make(f->dir);
    snprintf(f->path, sizeof f->path, "%s/w.safetensors", f->dir);
    CHECK_OK(sr_safetensors_save(f->path, f->weights.tensors, f->weights.n, NULL, NULL, 0));
}

static void end(Fixture *f) {
    sr_extractor_close(&f->whole);
    sr_arena_deinit(&f->weights.arena);
    temp_dir_remove(f->dir);
}

static void test_folded_norms(void **state) {
    (void)state;
    Fixture f;
    SrExtractor kept, folded;
    begin(&f, "");
    SrExtractorOptions o = options("layer1.0.conv2:a,layer2.0.bn2:b,res4:c,flatten", f.path);
    CHECK_OK(sr_extractor_open(&o, &folded));
    o.keep_norms = true;
    CHECK_OK(sr_extractor_open(&o, &kept));
    CHECK_INT(folded.n_folded, 19); // all 20 but the one whose convolution is tapped
    CHECK_INT(kept.n_folded, 0);
    fill_input(&kept);
    fill_input(&folded);
    sr_extractor_run(&kept);
    sr_extractor_run(&folded);
    for (int i = 0; i < 4; i++)
        check_same(&kept, i, &folded, i, 1e-5);
    CHECK_STR(folded.taps.v[2].name, "c");
    sr_extractor_close(&kept);
    sr_extractor_close(&folded);
    end(&f);
}

// Maps in bfloat16, with eight bits, are close to the floats and never equal; USE_AMP in the
// configuration acts like the flag.
static void test_bf16(void **state) {
    (void)state;
    const char *amp[] = {"MODEL.AMP_PARAMS.USE_AMP=True"};
    Fixture f;
    SrExtractor exact, asked, configured;
    begin(&f, "");
    SrExtractorOptions o = options("layer2.0.relu:a,flatten", f.path);
    CHECK_OK(sr_extractor_open(&o, &exact));
    o.bf16 = true;
    CHECK_OK(sr_extractor_open(&o, &asked));
    o.bf16 = false;
    o.overrides = amp;
    o.n_overrides = 1;
    CHECK_OK(sr_extractor_open(&o, &configured));
    SrExtractor *all[] = {&exact, &asked, &configured};
    for (int i = 0; i < 3; i++) {
        CHECK(all[i]->bf16 == (i > 0));
        fill_input(all[i]);
        sr_extractor_run(all[i]);
    }
    for (int i = 0; i < 2; i++) {
        SrTensor x = sr_extractor_output(&exact, i), y = sr_extractor_output(&asked, i);
        check_same(&exact, i, &asked, i, 0.05);
        check_same(&asked, i, &configured, i, 0);
        CHECK(memcmp(x.data, y.data, (size_t)sr_shape_count(x.shape) * sizeof(float)) != 0);
    }
    for (int i = 0; i < 3; i++)
        sr_extractor_close(all[i]);
    end(&f);
}

// A cut graph needs less memory and gives the same values.
static void test_cut(void **state) {
    (void)state;
    Fixture f;
    SrExtractor all, cut;
    begin(&f, "");
    SrExtractorOptions o = options("layer2:deep,layer1,flatten", f.path);
    o.keep_norms = true;
    CHECK_OK(sr_extractor_open(&o, &all));
    o.nodes = "layer1,layer2:again,layer2.1.relu_1:deep";
    CHECK_OK(sr_extractor_open(&o, &cut));
    fill_input(&all);
    fill_input(&cut);
    sr_extractor_run(&all);
    sr_extractor_run(&cut);
    check_same(&all, 1, &cut, 0, 0);
    check_same(&all, 0, &cut, 1, 0); // two queries for one node both get its value
    check_same(&all, 0, &cut, 2, 0);
    CHECK_INT(sr_params_find(cut.extraction.params, "trunk._feature_blocks.layer3.0.conv1.weight"),
              -1);
    CHECK(cut.extraction.after.numbers < cut.extraction.before.numbers / 4);
    CHECK(sr_params_bytes(cut.extraction.params) < sr_params_bytes(all.extraction.params) / 2);
    sr_extractor_close(&all);
    sr_extractor_close(&cut);
    end(&f);
}

static void test_names_of_weights(void **state) {
    (void)state;
    static const char *const prefixes[] = {"",
                                           "trunk._feature_blocks.",
                                           "module.",
                                           "_feature_blocks.",
                                           "teacher.backbone.",
                                           "module.encoder_q."};
    for (int i = 0; i < SR_COUNT(prefixes); i++) {
        Fixture f;
        SrExtractor e;
        begin(&f, prefixes[i]);
        SrExtractorOptions o = options("flatten", f.path);
        o.keep_norms = true;
        CHECK_OK(sr_extractor_open(&o, &e));
        fill_input(&e);
        fill_input(&f.whole);
        sr_extractor_run(&e);
        sr_extractor_run(&f.whole);
        check_same(&f.whole, 0, &e, 0, 0);
        sr_extractor_close(&e);
        end(&f);
    }
}

static void test_weights_that_do_not_fit(void **state) {
    (void)state;
    Fixture f;
    SrExtractor e;
    begin(&f, "");
    Weights w = f.weights;
    SrExtractorOptions o = options("layer1", f.path);
    // One tensor far above the taps is missing, one renamed, and one has another shape: one
    // message lists all three.
    w.tensors[w.n - 1].name = "layer9.conv.weight";
    w.tensors[w.n - 2] = w.tensors[0];
    w.tensors[w.n - 2].name = "layer4.1.extra";
    w.tensors[0].tensor.shape.d[0] /= 2;
    CHECK_OK(sr_safetensors_save(f.path, w.tensors, w.n, NULL, NULL, 0));
    CHECK_FAILS(sr_extractor_open(&o, &e), SR_ERR_CONFIG,
                "2 unexpected: layer4.1.extra, layer9.conv.weight");
    CHECK_FAILS(sr_extractor_open(&o, &e), SR_ERR_CONFIG, "1 missing: layer4.1.bn2.running_var");
    CHECK_FAILS(sr_extractor_open(&o, &e), SR_ERR_CONFIG,
                "1 of another shape or type: conv1.weight (F32 [2, 3, 3, 3] in "
                "the file, F32 [4, 3, 3, 3] here)");
    o.lax = true;
    CHECK_FAILS(sr_extractor_open(&o, &e), SR_ERR_CONFIG, "of another shape");
    // A trunk of another width differs in every tensor; the message lists eight of them.
    for (int i = 1; i < w.n - 2; i++)
        w.tensors[i].tensor.shape.d[0] /= 2;
    CHECK_OK(sr_safetensors_save(f.path, w.tensors, w.n, NULL, NULL, 0));
    CHECK_FAILS(sr_extractor_open(&o, &e), SR_ERR_CONFIG, " more");
    CHECK(strlen(sr_status_message()) < 1000);
    for (int i = 1; i < w.n - 2; i++)
        w.tensors[i].tensor.shape.d[0] *= 2;
    w.tensors[0].tensor.shape.d[0] *= 2;
    CHECK_OK(sr_safetensors_save(f.path, w.tensors, w.n, NULL, NULL, 0));
    CHECK_OK(sr_extractor_open(&o, &e));
    sr_extractor_close(&e);
    CHECK_OK(
        sr_safetensors_save(f.path, &(SrNamedTensor){"a", w.tensors[0].tensor}, 1, NULL, NULL, 0));
    CHECK_FAILS(sr_extractor_open(&o, &e), SR_ERR_CONFIG, "none of its 1 tensors");
    end(&f);
}

// A torchvision file has a classifier for which a configuration's trunk has no place; it is
// ignored.
static void test_classifier_may_be_left_over(void **state) {
    (void)state;
    Fixture f;
    SrExtractor e;
    begin(&f, "");
    f.weights.tensors[f.weights.n] = f.weights.tensors[0];
    f.weights.tensors[f.weights.n].name = "fc.weight";
    CHECK_OK(sr_safetensors_save(f.path, f.weights.tensors, f.weights.n + 1, NULL, NULL, 0));
    SrExtractorOptions o = options("layer1", f.path);
    CHECK_OK(sr_extractor_open(&o, &e));
    sr_extractor_close(&e);
    end(&f);
}

static void test_layouts(void **state) {
    (void)state;
    float x[24], y[24], z[24];
    SrShape s = SR_SHAPE(2, 2, 2, 3);
    for (int i = 0; i < 24; i++)
        x[i] = (float)i; // (2, 3, 2, 2)
    sr_layout_to_nhwc(x, s, y);
    CHECK_NEAR(y[1], 4, 0);   // image 0, pixel 0, channel 1
    CHECK_NEAR(y[15], 13, 0); // image 1, pixel 1, channel 0
    sr_layout_to_nchw(y, s, z);
    CHECK(memcmp(x, z, sizeof x) == 0);
}

// Patch tokens become rows of a map without the class token; features without tokens stay.
static void test_token_maps(void **state) {
    (void)state;
    static const char vit[] =
        "config: {MODEL: {TRUNK: {NAME: vision_transformer, VISION_TRANSFORMERS: "
        "{IMAGE_SIZE: 16, PATCH_SIZE: 8, NUM_LAYERS: 1, NUM_HEADS: 2, "
        "HIDDEN_DIM: 8, MLP_DIM: 16}}, HEAD: {PARAMS: []}, "
        "FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: True, "
        "EXTRACT_TRUNK_FEATURES_ONLY: True}}}";
    SrExtractorOptions o = options("lastBLK,lastCLS", NULL);
    SrExtractor e;
    float map[3 * 8 * 2 * 3], turned[3 * 8 * 2 * 3];
    o.trunk = "vit.yaml";
    o.config_text = vit;
    o.width = 24;
    o.token_maps = true;
    CHECK_OK(sr_extractor_open(&o, &e));
    fill_input(&e);
    sr_extractor_run(&e);
    CHECK(sr_shape_equal(sr_extractor_shape(&e, 0, false), SR_SHAPE(3, 8, 2, 3)));
    CHECK(sr_shape_equal(sr_extractor_shape(&e, 0, true), SR_SHAPE(3, 2, 3, 8)));
    CHECK(sr_shape_equal(sr_extractor_shape(&e, 1, false), SR_SHAPE(3, 8)));
    sr_extractor_copy(&e, 0, 3, true, map);
    sr_extractor_copy(&e, 0, 3, false, turned);
    const float *tokens = sr_extractor_output(&e, 0).data; // (3, 7, 8)
    for (int n = 0; n < 3; n++)
        for (int l = 0; l < 6; l++)
            for (int d = 0; d < 8; d++) {
                CHECK(map[(n * 6 + l) * 8 + d] == tokens[(n * 7 + 1 + l) * 8 + d]);
                CHECK(turned[(n * 8 + d) * 6 + l] == tokens[(n * 7 + 1 + l) * 8 + d]);
            }
    sr_extractor_close(&e);
    o = options("res5", NULL);
    o.token_maps = true;
    CHECK_OK(sr_extractor_open(&o, &e)); // a map needs no conversion
    sr_extractor_close(&e);
}

SR_TESTS(extractor, unit(test_token_maps), unit(test_folded_norms), unit(test_bf16), unit(test_cut),
         unit(test_names_of_weights), unit(test_weights_that_do_not_fit),
         unit(test_classifier_may_be_left_over), unit(test_layouts))
