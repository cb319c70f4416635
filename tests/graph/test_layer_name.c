// Looks one name up in both vocabularies: the caller's comes first, and the answer says which one
// matched and what the name means in the other.
#include "graph/ir/layer_name.h"

#include "graph/ir/builder.h"
#include "tests/check.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrNodeId conv, relu;
} Stem;

// Builds a convolution and a ReLU. In VISSL's vocabulary the ReLU has the name conv1.
static void begin(Stem *s) {
    SrBuilder *b;
    CHECK_OK(sr_params_new(&s->params));
    CHECK_OK(sr_graph_new(s->params, &s->graph));
    CHECK_OK(sr_builder_new(s->graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(1, 4), SR_F32);
    s->conv = sr_build(b, "relu", "conv1", NULL, x);
    sr_builder_push(b, "layer1");
    s->relu = sr_build(b, "relu", "relu", NULL, s->conv);
    sr_builder_pop(b);
    sr_build_alias(b, "conv1", s->relu);
    sr_build_alias(b, "res2", s->relu);
    CHECK_OK(sr_builder_status(b));
    sr_builder_free(b);
}

static void end(Stem *s) {
    sr_graph_free(s->graph);
    sr_params_free(s->params);
}

static void check_layer(const Stem *s, const char *name, SrLayerNames first, SrLayerName expected,
                        const char *text) {
    SrLayerName found;
    SrText out = SR_TEXT_INIT;
    CHECK_OK(sr_layer_find(s->graph, name, SR_MODE_BOTH, first, &found));
    CHECK_INT(found.node, expected.node);
    CHECK_INT(found.names, expected.names);
    CHECK_INT(found.other, expected.other);
    sr_layer_name_text(s->graph, name, &found, &out);
    CHECK_STR(out.s, text);
    sr_text_deinit(&out);
}

TEST(test_two_meanings) {
    Stem s;
    begin(&s);
    check_layer(&s, "conv1", SR_NAMES_NODES, (SrLayerName){s.conv, SR_NAMES_NODES, s.relu},
                "conv1: torchvision's node (VISSL's stage of that name is layer1.relu)");
    check_layer(
        &s, "conv1", SR_NAMES_STAGES, (SrLayerName){s.relu, SR_NAMES_STAGES, s.conv},
        "conv1: VISSL's stage, node layer1.relu (torchvision's node of that name is conv1)");
    end(&s);
}

TEST(test_one_meaning) {
    Stem s;
    begin(&s);
    for (SrLayerNames first = SR_NAMES_NODES; first <= SR_NAMES_STAGES; first++) {
        check_layer(&s, "res2", first, (SrLayerName){s.relu, SR_NAMES_STAGES, SR_NO_NODE},
                    "res2: VISSL's stage, node layer1.relu");
        check_layer(&s, "layer1.relu", first, (SrLayerName){s.relu, SR_NAMES_NODES, SR_NO_NODE},
                    "layer1.relu: torchvision's node");
        check_layer(&s, "layer1", first, (SrLayerName){s.relu, SR_NAMES_NODES, SR_NO_NODE},
                    "layer1: torchvision's module, node layer1.relu");
    }
    SrLayerName found;
    CHECK_FAILS(sr_layer_find(s.graph, "res3", SR_MODE_BOTH, SR_NAMES_STAGES, &found),
                SR_ERR_CONFIG, "did you mean 'res2'");
    end(&s);
}

SR_TESTS(layer_name, unit(test_two_meanings), unit(test_one_meaning))
