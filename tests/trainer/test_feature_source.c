// Tests sources of features: a cut graph gives the values of the whole one, and folded norms do
// too. Weights load under every naming, and an error lists all tensors that do not fit.
#include "trainer/features/feature_values.h"

#include "base/mem.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"
enum { MAX_TENSORS = 256 };

static SrFeatureOptions options(const char *nodes, const char *weights) {
    return (SrFeatureOptions){.trunk = CONFIG,
                              .batch = 3,
                              .height = 16,
                              .width = 12,
                              .layers = nodes,
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

static void fill_input(SrFeatureSource *e) {
    SrTensor x = sr_feature_source_input(e);
    for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
        ((float *)x.data)[i] = sinf((float)i * 0.37f);
}

static void check_same(const SrFeatureSource *a, int i, const SrFeatureSource *b, int j,
                       double tolerance) {
    SrTensor x = sr_feature_source_value(a, i), y = sr_feature_source_value(b, j);
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
    SrFeatureSource whole; // the trunk whose weights are in the file
} Fixture;

static void begin(Fixture *f, const char *prefix) {
    SrFeatureOptions o = options("flatten", NULL);
    o.keep_norms = true;
    CHECK_OK(sr_feature_source_open(&o, &f->whole));
    stir_norms(f->whole.extraction.params);
    weights_of(f->whole.extraction.params, prefix, &f->weights);
    temp_dir_make(f->dir);
    snprintf(f->path, sizeof f->path, "%s/w.safetensors", f->dir);
    CHECK_OK(sr_safetensors_save(f->path, f->weights.tensors, f->weights.n, NULL, NULL, 0));
}

static void end(Fixture *f) {
    sr_feature_source_close(&f->whole);
    sr_arena_deinit(&f->weights.arena);
    temp_dir_remove(f->dir);
}

TEST(test_folded_norms) {
    Fixture f;
    SrFeatureSource kept, folded;
    begin(&f, "");
    SrFeatureOptions o = options("layer1.0.conv2:a,layer2.0.bn2:b,res4:c,flatten", f.path);
    CHECK_OK(sr_feature_source_open(&o, &folded));
    o.keep_norms = true;
    CHECK_OK(sr_feature_source_open(&o, &kept));
    CHECK_INT(folded.n_folded, 19); // all 20 but the one whose convolution is tapped
    CHECK_INT(kept.n_folded, 0);
    fill_input(&kept);
    fill_input(&folded);
    sr_feature_source_forward(&kept);
    sr_feature_source_forward(&folded);
    for (int i = 0; i < 4; i++)
        check_same(&kept, i, &folded, i, 1e-5);
    CHECK_STR(folded.taps.v[2].name, "c");
    sr_feature_source_close(&kept);
    sr_feature_source_close(&folded);
    end(&f);
}

// Maps in bfloat16, with eight bits, are close to the floats and never equal; USE_AMP in the
// configuration acts like the flag.
TEST(test_bf16) {
    const char *amp[] = {"MODEL.AMP_PARAMS.USE_AMP=True"};
    Fixture f;
    SrFeatureSource exact, asked, configured;
    begin(&f, "");
    SrFeatureOptions o = options("layer2.0.relu:a,flatten", f.path);
    CHECK_OK(sr_feature_source_open(&o, &exact));
    o.bf16 = true;
    CHECK_OK(sr_feature_source_open(&o, &asked));
    o.bf16 = false;
    o.overrides = amp;
    o.n_overrides = 1;
    CHECK_OK(sr_feature_source_open(&o, &configured));
    SrFeatureSource *all[] = {&exact, &asked, &configured};
    for (int i = 0; i < 3; i++) {
        CHECK(all[i]->bf16 == (i > 0));
        fill_input(all[i]);
        sr_feature_source_forward(all[i]);
    }
    for (int i = 0; i < 2; i++) {
        SrTensor x = sr_feature_source_value(&exact, i), y = sr_feature_source_value(&asked, i);
        check_same(&exact, i, &asked, i, 0.05);
        check_same(&asked, i, &configured, i, 0);
        CHECK(memcmp(x.data, y.data, (size_t)sr_shape_count(x.shape) * sizeof(float)) != 0);
    }
    for (int i = 0; i < 3; i++)
        sr_feature_source_close(all[i]);
    end(&f);
}

// A cut graph needs less memory and gives the same values.
TEST(test_cut) {
    Fixture f;
    SrFeatureSource all, cut;
    begin(&f, "");
    SrFeatureOptions o = options("layer2:deep,layer1,flatten", f.path);
    o.keep_norms = true;
    CHECK_OK(sr_feature_source_open(&o, &all));
    o.layers = "layer1,layer2:again,layer2.1.relu_1:deep";
    CHECK_OK(sr_feature_source_open(&o, &cut));
    fill_input(&all);
    fill_input(&cut);
    sr_feature_source_forward(&all);
    sr_feature_source_forward(&cut);
    check_same(&all, 1, &cut, 0, 0);
    check_same(&all, 0, &cut, 1, 0); // two queries for one node both get its value
    check_same(&all, 0, &cut, 2, 0);
    CHECK_INT(sr_params_find(cut.extraction.params, "trunk._feature_blocks.layer3.0.conv1.weight"),
              -1);
    CHECK(cut.extraction.after.numbers < cut.extraction.before.numbers / 4);
    CHECK(sr_params_bytes(cut.extraction.params) < sr_params_bytes(all.extraction.params) / 2);
    sr_feature_source_close(&all);
    sr_feature_source_close(&cut);
    end(&f);
}

TEST(test_names_of_weights) {
    static const char *const prefixes[] = {"",
                                           "trunk._feature_blocks.",
                                           "module.",
                                           "_feature_blocks.",
                                           "teacher.backbone.",
                                           "module.encoder_q."};
    for (int i = 0; i < SR_COUNT(prefixes); i++) {
        Fixture f;
        SrFeatureSource e;
        begin(&f, prefixes[i]);
        SrFeatureOptions o = options("flatten", f.path);
        o.keep_norms = true;
        CHECK_OK(sr_feature_source_open(&o, &e));
        fill_input(&e);
        fill_input(&f.whole);
        sr_feature_source_forward(&e);
        sr_feature_source_forward(&f.whole);
        check_same(&f.whole, 0, &e, 0, 0);
        sr_feature_source_close(&e);
        end(&f);
    }
}

// Turns a tensor of floats into one of another type, in the arena of the weights.
static void retype(Weights *w, int i, SrDtype dtype) {
    SrTensor *t = &w->tensors[i].tensor;
    int64_t n = sr_shape_count(t->shape);
    const float *from = t->data;
    void *to = sr_arena_alloc(&w->arena, (size_t)n * sizeof(double));
    CHECK(to);
    for (int64_t k = 0; k < n; k++) {
        uint32_t bits;
        memcpy(&bits, &from[k], sizeof bits);
        if (dtype == SR_F64)
            ((double *)to)[k] = (double)from[k];
        else
            ((uint16_t *)to)[k] = (uint16_t)(bits >> 16);
    }
    t->data = to;
    t->dtype = dtype;
}

// Weights of half precision and doubles give the features of the same numbers as floats.
TEST(test_types_of_weights) {
    Fixture f;
    SrFeatureSource floats, mixed;
    begin(&f, "");
    Weights *w = &f.weights;
    // Numbers with eight bits are exact in bfloat16; every third tensor stays as it is.
    for (int i = 0; i < w->n; i++)
        for (int64_t k = 0;
             w->tensors[i].tensor.dtype == SR_F32 && k < sr_shape_count(w->tensors[i].tensor.shape);
             k++) {
            uint32_t bits;
            float *v = (float *)w->tensors[i].tensor.data + k;
            memcpy(&bits, v, sizeof bits);
            bits &= 0xffff0000;
            memcpy(v, &bits, sizeof bits);
        }
    CHECK_OK(sr_safetensors_save(f.path, w->tensors, w->n, NULL, NULL, 0));
    SrFeatureOptions o = options("layer2,flatten", f.path);
    CHECK_OK(sr_feature_source_open(&o, &floats));
    for (int i = 0; i < w->n; i++)
        if (w->tensors[i].tensor.dtype == SR_F32 && i % 3)
            retype(w, i, i % 3 == 1 ? SR_BF16 : SR_F64);
    CHECK_OK(sr_safetensors_save(f.path, w->tensors, w->n, NULL, NULL, 0));
    CHECK_OK(sr_feature_source_open(&o, &mixed));
    fill_input(&floats);
    fill_input(&mixed);
    sr_feature_source_forward(&floats);
    sr_feature_source_forward(&mixed);
    check_same(&floats, 0, &mixed, 0, 0);
    check_same(&floats, 1, &mixed, 1, 0);
    sr_feature_source_close(&floats);
    sr_feature_source_close(&mixed);
    end(&f);
}

TEST(test_weights_that_do_not_fit) {
    Fixture f;
    SrFeatureSource e;
    begin(&f, "");
    Weights w = f.weights;
    SrFeatureOptions o = options("layer1", f.path);
    // One tensor far above the taps is missing, one renamed, and one has another shape: one
    // message lists all three.
    w.tensors[w.n - 1].name = "layer9.conv.weight";
    w.tensors[w.n - 2] = w.tensors[0];
    w.tensors[w.n - 2].name = "layer4.1.extra";
    w.tensors[0].tensor.shape.d[0] /= 2;
    CHECK_OK(sr_safetensors_save(f.path, w.tensors, w.n, NULL, NULL, 0));
    CHECK_FAILS(sr_feature_source_open(&o, &e), SR_ERR_CONFIG,
                "2 unexpected: layer4.1.extra, layer9.conv.weight");
    CHECK_FAILS(sr_feature_source_open(&o, &e), SR_ERR_CONFIG,
                "1 missing: layer4.1.bn2.running_var");
    CHECK_FAILS(sr_feature_source_open(&o, &e), SR_ERR_CONFIG,
                "1 of another shape or type: conv1.weight (F32 [2, 3, 3, 3] in "
                "the file, F32 [4, 3, 3, 3] here)");
    o.lax = true;
    CHECK_FAILS(sr_feature_source_open(&o, &e), SR_ERR_CONFIG, "of another shape");
    // A trunk of another width differs in every tensor; the message lists eight of them.
    for (int i = 1; i < w.n - 2; i++)
        w.tensors[i].tensor.shape.d[0] /= 2;
    CHECK_OK(sr_safetensors_save(f.path, w.tensors, w.n, NULL, NULL, 0));
    CHECK_FAILS(sr_feature_source_open(&o, &e), SR_ERR_CONFIG, " more");
    CHECK(strlen(sr_status_message()) < 1000);
    for (int i = 1; i < w.n - 2; i++)
        w.tensors[i].tensor.shape.d[0] *= 2;
    w.tensors[0].tensor.shape.d[0] *= 2;
    CHECK_OK(sr_safetensors_save(f.path, w.tensors, w.n, NULL, NULL, 0));
    CHECK_OK(sr_feature_source_open(&o, &e));
    sr_feature_source_close(&e);
    CHECK_OK(
        sr_safetensors_save(f.path, &(SrNamedTensor){"a", w.tensors[0].tensor}, 1, NULL, NULL, 0));
    CHECK_FAILS(sr_feature_source_open(&o, &e), SR_ERR_CONFIG, "none of its 1 tensors");
    end(&f);
}

// A torchvision file has a classifier for which a configuration's trunk has no place; it is
// ignored.
TEST(test_classifier_may_be_left_over) {
    Fixture f;
    SrFeatureSource e;
    begin(&f, "");
    f.weights.tensors[f.weights.n] = f.weights.tensors[0];
    f.weights.tensors[f.weights.n].name = "fc.weight";
    CHECK_OK(sr_safetensors_save(f.path, f.weights.tensors, f.weights.n + 1, NULL, NULL, 0));
    SrFeatureOptions o = options("layer1", f.path);
    CHECK_OK(sr_feature_source_open(&o, &e));
    sr_feature_source_close(&e);
    end(&f);
}

TEST(test_layouts) {
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
TEST(test_token_maps) {
    static const char vit[] =
        "config: {MODEL: {TRUNK: {NAME: vision_transformer, VISION_TRANSFORMERS: "
        "{IMAGE_SIZE: 16, PATCH_SIZE: 8, NUM_LAYERS: 1, NUM_HEADS: 2, "
        "HIDDEN_DIM: 8, MLP_DIM: 16}}, HEAD: {PARAMS: []}, "
        "FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: True, "
        "EXTRACT_TRUNK_FEATURES_ONLY: True}}}";
    SrFeatureOptions o = options("lastBLK,lastCLS", NULL);
    SrFeatureSource e;
    float map[3 * 8 * 2 * 3], turned[3 * 8 * 2 * 3];
    o.trunk = "vit.yaml";
    o.config_text = vit;
    o.width = 24;
    o.token_maps = true;
    CHECK_OK(sr_feature_source_open(&o, &e));
    fill_input(&e);
    sr_feature_source_forward(&e);
    CHECK(sr_shape_equal(sr_feature_shape(&e, 0, false), SR_SHAPE(3, 8, 2, 3)));
    CHECK(sr_shape_equal(sr_feature_shape(&e, 0, true), SR_SHAPE(3, 2, 3, 8)));
    CHECK(sr_shape_equal(sr_feature_shape(&e, 1, false), SR_SHAPE(3, 8)));
    sr_feature_copy(&e, 0, 3, true, map);
    sr_feature_copy(&e, 0, 3, false, turned);
    const float *tokens = sr_feature_source_value(&e, 0).data; // (3, 7, 8)
    for (int n = 0; n < 3; n++)
        for (int l = 0; l < 6; l++)
            for (int d = 0; d < 8; d++) {
                CHECK(map[(n * 6 + l) * 8 + d] == tokens[(n * 7 + 1 + l) * 8 + d]);
                CHECK(turned[(n * 8 + d) * 6 + l] == tokens[(n * 7 + 1 + l) * 8 + d]);
            }
    sr_feature_source_close(&e);
    o = options("res5", NULL);
    o.token_maps = true;
    CHECK_OK(sr_feature_source_open(&o, &e)); // a map needs no conversion
    sr_feature_source_close(&e);
}

// A name of two meanings follows the caller's vocabulary, and the report gives both.  Other layers
// can be chosen later.
// A configuration's keys for the machine hold for its features too.
TEST(test_machine_of_config) {
    static const char *const keys[] = {"MACHINE.WINOGRAD=none", "MACHINE.FP32=x3"};
    SrFeatureOptions o = options("res2", NULL);
    SrFeatureSource s;
    o.overrides = keys;
    o.n_overrides = SR_COUNT(keys);
    CHECK_OK(sr_feature_source_open(&o, &s));
    const SrMachine *machine = sr_plan_machine(s.plan);
    CHECK_INT(machine->conv_designs & (SR_CONV_WINOGRAD2 | SR_CONV_WINOGRAD4), 0);
    CHECK_INT(machine->fp32, SR_CONV_FP32_X3);
    sr_feature_source_close(&s);
}

TEST(test_choose) {
    SrFeatureSource s;
    SrText out = SR_TEXT_INIT;
    SrFeatureOptions o = options(NULL, NULL);
    CHECK_OK(sr_feature_source_build(&o, &s));
    CHECK_OK(sr_feature_source_choose(&s, "conv1,res2"));
    CHECK_STR(sr_graph_at(s.graph, s.taps.v[0].node)->name, "conv1");
    CHECK_INT(sr_feature_source_floats(&s, 0), 16 * 12 * 4);
    CHECK_OK(sr_feature_source_compile(&s));
    fill_input(&s);
    sr_feature_source_forward(&s);
    sr_feature_source_say_layers(&s, &out);
    CHECK_STR(out.s, "  conv1: torchvision's node (VISSL's stage of that name is relu)\n"
                     "  res2: VISSL's stage, node layer1.1.relu_1\n");
    sr_text_deinit(&out);
    s.options.meaning = SR_NAMES_STAGES;
    CHECK_OK(sr_feature_source_choose(&s, "conv1"));
    CHECK_STR(sr_graph_at(s.graph, s.taps.v[0].node)->name, "relu");
    CHECK_OK(sr_feature_source_compile(&s));
    CHECK_FAILS(sr_feature_source_choose(&s, "res6"), SR_ERR_CONFIG, "did you mean");
    sr_feature_source_close(&s);
}

// A live source follows its model's parameters; another one keeps the values that it was compiled
// with.
TEST(test_live) {
    SrTrunkGraph t;
    SrFeatureSource live, copy;
    CHECK_OK(sr_trunk_graph_open(CONFIG, NULL, 0, 3, 16, 12, &t));
    CHECK_OK(sr_params_allocate(t.params));
    sr_params_init(t.params, 5);
    SrFeatureOptions o = {.model = t.model,
                          .live = true,
                          .batch = 3,
                          .height = 16,
                          .width = 12,
                          .layers = "flatten",
                          .meaning = SR_NAMES_STAGES};
    CHECK_OK(sr_feature_source_open(&o, &live));
    o.live = false;
    o.keep_norms = true;
    CHECK_OK(sr_feature_source_open(&o, &copy));
    fill_input(&live);
    fill_input(&copy);
    sr_feature_source_forward(&live);
    sr_feature_source_forward(&copy);
    check_same(&live, 0, &copy, 0, 0);
    float before = *(const float *)sr_feature_source_value(&live, 0).data;
    stir_norms(t.params);
    sr_feature_source_forward(&live);
    sr_feature_source_forward(&copy);
    CHECK(*(const float *)sr_feature_source_value(&live, 0).data != before);
    CHECK(*(const float *)sr_feature_source_value(&copy, 0).data == before);
    sr_feature_source_close(&live);
    sr_feature_source_close(&copy);
    sr_trunk_graph_close(&t);
}

SR_TESTS(feature_source, unit(test_machine_of_config), unit(test_token_maps),
         unit(test_folded_norms), unit(test_bf16), unit(test_cut), unit(test_names_of_weights),
         unit(test_types_of_weights), unit(test_weights_that_do_not_fit),
         unit(test_classifier_may_be_left_over), unit(test_layouts), unit(test_choose),
         unit(test_live))
