// Tests sslrun graph: its lists equal the reference lists in both granularities; formats, closed
// blocks, extraction, refusals.
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "tests/program.h"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 0, (const char *const[]){"graph", __VA_ARGS__, NULL})

static void expect_refused(const char *text) {
    if (result.code != 2 || *result.out || !strstr(result.err, text))
        fail_msg("expected exit code 2 and \"%s\", got %d and:\n%s%s", text, result.code,
                 result.out, result.err);
}

static void expect_list(const char *model, const char *leaf, const char *suffix) {
    char path[128], *text;
    size_t bytes;
    snprintf(path, sizeof path, "tests/trunks/nodes/%s%s.txt", model, suffix);
    CHECK_OK(sr_file_read(path, 1 << 20, &text, &bytes));
    RUN(model, "--batch", "2", "--size", "64", "--leaf", leaf);
    CHECK_INT(result.code, 0);
    if (strcmp(result.out, text) != 0)
        fail_msg("the list of %s, --leaf %s, is not that of %s", model, leaf, path);
    sr_free(text);
}

TEST(test_reference_lists) {
    // "": --leaf default closes nothing in these nets.
    static const char *const models[][2] = {
        {"resnet18", ""},           {"resnet50", ""},
        {"resnext50_32x4d", ""},    {"wide_resnet50_2", ""},
        {"shufflenet_v2_x0_5", ""}, {"convnext_tiny", ".through"},
        {"swin_t", ".through"},     {"mobilenet_v3_small", ".through"}};
    for (int i = 0; i < SR_COUNT(models); i++) {
        expect_list(models[i][0], "default", "");
        expect_list(models[i][0], "through", models[i][1]);
    }
}

static int lines(const char *text) {
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

// Numbers of nodes are those of torchvision's get_graph_node_names.
TEST(test_family) {
    static const struct {
        const char *model;
        int nodes;
        const char *line;
    } rows[] = {{"resnet34", 126, "layer3.5.relu_1 [1, 256, 2, 2]\n"},
                {"resnet101", 346, "layer3.22.relu_2 [1, 1024, 2, 2]\n"},
                {"resnet152", 516, "layer2.7.conv2 [1, 128, 4, 4]\n"},
                {"resnext101_32x8d", 346, "layer1.0.conv2 [1, 256, 8, 8]\n"},
                {"resnext101_64x4d", 346, "layer1.0.conv2 [1, 256, 8, 8]\n"},
                {"wide_resnet101_2", 346, "layer4.2.conv1 [1, 1024, 1, 1]\n"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        RUN(rows[i].model, "--batch=1", "--size=32");
        CHECK_INT(lines(result.out), rows[i].nodes);
        CHECK(strstr(result.out, rows[i].line));
        CHECK(strstr(result.out, "fc [1, 1000]\n"));
    }
}

TEST(test_closed_blocks) {
    RUN("resnet18", "--leaf", "BasicBlock");
    CHECK(strstr(
        result.out,
        "maxpool [1, 64, 56, 56]\nlayer1.0 [1, 64, 56, 56]\nlayer1.1 [1, 64, 56, 56]\nlayer2.0"));
    CHECK_INT(lines(result.out), 16);
    RUN("resnet50", "--leaf", "SqueezeExcitation,Bottleneck");
    CHECK_INT(lines(result.out), 24);
    RUN("resnet18", "--leaf", "Bottleneck");
    expect_refused("classes of this trunk: BasicBlock, Sequential");
    RUN("resnet50", "--leaf", "Botleneck");
    expect_refused("did you mean 'Bottleneck'?");
    RUN("resnet50", "--leaf", ",");
    expect_refused("an empty list of blocks");
    RUN("resnet18", "--leaf", "BasicBlock", "--nodes", "layer1.0.bn1");
    expect_refused("'layer1.0.bn1' is inside layer1.0, a BasicBlock that is kept closed; name "
                   "'layer1.0' instead");
    RUN("resnet18", "--leaf", "BasicBlock", "--nodes", "layer1.0,layer4,res3:third");
    CHECK(strstr(result.out, "layer4.0 [1, 512, 7, 7]\nlayer4.1 [1, 512, 7, 7]"));
    CHECK_INT(lines(result.out), 13);
}

TEST(test_formats) {
    RUN("resnet18", "--format", "tabular");
    CHECK(strstr(result.out, "70 nodes, 11.69 M parameters, 3.63 GFLOP, "));
    RUN("resnet18", "--format", "dot");
    CHECK(sr_text_starts(result.out, "digraph model {"));
    RUN("resnet18", "--format", "code");
    CHECK(strstr(result.out, "layer1.0.add = add(layer1.0.bn2, maxpool)"));
    RUN("resnet18", "--format", "json");
    CHECK(sr_text_starts(result.out, "{\"format\": \"sslrun graph 1\""));
    RUN("resnet18", "--mode", "both");
    CHECK(strstr(result.err, "train and eval: the same 70 nodes"));
    RUN("resnet18", "--stages");
    CHECK(strstr(result.out, "3        layer3.1.relu_1          channels 256    reduction 16\n"));
    RUN("resnet18", "--format", "nmes");
    expect_refused("names, tabular, dot, code, json");
    RUN("resnet18", "--mode", "test");
    expect_refused("train, eval, both");
}

TEST(test_extraction) {
    RUN("resnet18", "--nodes", "layer1:deep,conv1");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "19 of 70 nodes, 0.16 of 11.69 M parameters"));
    CHECK(sr_text_ends(result.out, "layer1.1.relu_1 [1, 64, 56, 56]\n"));
    RUN("resnet18", "--nodes", "2");
    CHECK(sr_text_ends(result.out, "layer2.1.relu_1 [1, 128, 28, 28]\n"));
    RUN("resnet18", "--nodes", "layr4");
    expect_refused("did you mean 'layer4'");
    RUN("resnet18", "--nodes", "zzzzzzzz");
    expect_refused("`sslrun graph resnet18` lists them all");
    RUN("resnet18", "--nodes", "layer1,layer2:layer1");
    expect_refused("two outputs are called 'layer1'");
    RUN("resnet18", "--nodes", " ");
    expect_refused("the list of layers is empty");
    RUN("resnet18", "--nodes", "layer1,,layer2");
    expect_refused("a layer in the list has no name");
    RUN("resnet81");
    expect_refused("did you mean 'resnet18'");
    RUN("resnet18", "DEPTH=5");
    expect_refused("takes no KEY=VALUE");
    RUN("--batch", "3");
    expect_refused("no trunk is named");
}

// Lines equal those of get_graph_node_names in torchvision 0.14, including Python's steps of the
// channel shuffle.
TEST(test_shufflenet) {
    RUN("shufflenet_v2_x0_5", "--batch", "2", "--size", "64");
    CHECK_INT(lines(result.out), 368);
    CHECK(strstr(result.out,
                 "stage2.0.cat [2, 48, 8, 8]\nstage2.0.size None\nstage2.0.getitem None\n"
                 "stage2.0.getitem_1 None\nstage2.0.getitem_2 None\nstage2.0.getitem_3 None\n"
                 "stage2.0.floordiv None\nstage2.0.view [2, 2, 24, 8, 8]\n"
                 "stage2.0.transpose [2, 24, 2, 8, 8]\nstage2.0.contiguous [2, 24, 2, 8, 8]\n"
                 "stage2.0.view_1 [2, 48, 8, 8]\nstage2.1.chunk None\n"
                 "stage2.1.getitem [2, 24, 8, 8]\nstage2.1.getitem_1 [2, 24, 8, 8]\n"));
    CHECK(strstr(result.out, "stage2.1.getitem_2 None\n"));
    CHECK(strstr(result.err, "157 of these names exist in torchvision only and cannot be tapped"));
    RUN("-q", "shufflenet_v2_x0_5");
    CHECK_STR(result.err, "");
    RUN("shufflenet_v2_x0_5", "--nodes", "stage2.0.view_1");
    CHECK_INT(result.code, 0);
    RUN("shufflenet_v2_x0_5", "--nodes", "stage2.0.transpose");
    expect_refused("name 'stage2.0.view_1' instead");
    RUN("shufflenet_v2_x0_5", "--format", "tabular");
    CHECK(strstr(result.out, "\nstage2.0.size        -                     None "));
}

static void expect_stages(const char *model, const char *size, const char *text) {
    RUN(model, "--stages", "--size", size);
    if (!sr_text_starts(result.out, text))
        fail_msg("%s: expected\n%sgot\n%s", model, text, result.out);
}

// Channels and strides of stages are those of timm's feature_info, however sizes round.
TEST(test_stages) {
    expect_stages("mobilenet_v3_large", "64",
                  "0        features.1.add           channels 16     reduction 2\n"
                  "1        features.3.add           channels 24     reduction 4\n"
                  "2        features.6.add           channels 40     reduction 8\n"
                  "3        features.12.add          channels 112    reduction 16\n"
                  "4        features.16.2            channels 960    reduction 32\n");
    expect_stages("mobilenet_v3_small", "64",
                  "0        features.0.2             channels 16     reduction 2\n"
                  "1        features.1.block.2.1     channels 16     reduction 4\n"
                  "2        features.3.add           channels 24     reduction 8\n"
                  "3        features.8.add           channels 48     reduction 16\n"
                  "4        features.12.2            channels 576    reduction 32\n");
    expect_stages("inception_v3", "299",
                  "0        Conv2d_2b_3x3.relu       channels 64     reduction 2\n"
                  "1        Conv2d_4a_3x3.relu       channels 192    reduction 4\n"
                  "2        Mixed_5d.cat             channels 288    reduction 8\n"
                  "3        Mixed_6e.cat             channels 768    reduction 16\n"
                  "4        Mixed_7c.cat_2           channels 2048   reduction 32\n");
    static const char *const last[] = {"swin_t", "maxvit_t", "resnet18", "densenet121"};
    for (int i = 0; i < SR_COUNT(last); i++) {
        RUN(last[i], "--stages", "--size", "224");
        CHECK(strstr(result.out, " reduction 32\n") && !strstr(result.out, " reduction 64\n"));
    }
}

// Nodes are given as one list for both modes or as one list per mode, by torchvision's rule.
TEST(test_lists_of_modes) {
    RUN("resnet18", "--train-nodes", "layer1");
    expect_refused("--train-nodes is given without --eval-nodes; give both flags");
    RUN("resnet18", "--eval-nodes", "layer1");
    expect_refused("--eval-nodes is given without --train-nodes");
    RUN("resnet18", "--nodes", "layer1", "--train-nodes", "layer1", "--eval-nodes", "layer1");
    expect_refused("--nodes excludes --train-nodes and --eval-nodes");
    RUN("resnet18", "--train-nodes", "conv1", "--eval-nodes", "layer1");
    CHECK(sr_text_ends(result.out, "layer1.1.relu_1 [1, 64, 56, 56]\n"));
    RUN("resnet18", "--train-nodes", "conv1", "--eval-nodes", "layer1", "--mode", "train");
    CHECK_STR(result.out, "x [1, 3, 224, 224]\nconv1 [1, 64, 112, 112]\n");
    RUN("resnet18", "--train-nodes", "layr1", "--eval-nodes", "layer1");
    expect_refused("did you mean 'layer1'");
    RUN("resnet18", "--nodes", "l");
    expect_refused("did you mean 'layer1.0.conv1'");
}

// Both printed counts are those of the lists.
TEST(test_counts_of_modes) {
    static const char *const models[] = {"convnext_tiny", "vit_b_16", "shufflenet_v2_x0_5"};
    for (int i = 0; i < SR_COUNT(models); i++) {
        char line[64];
        RUN(models[i], "--mode", "both", "--size", "224");
        snprintf(line, sizeof line, "train and eval: the same %d nodes", lines(result.out));
        CHECK(strstr(result.err, line));
    }
    RUN("-q", "googlenet", "--mode", "both");
    CHECK_STR(result.err, "");
}

// Costs are those of one image of 224 pixels, as torchvision gives them; a line says so unless
// both sizes were chosen.
TEST(test_sizes_that_nobody_chose) {
    RUN("resnet18", "--format", "tabular");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "for 1 image of 224 x 224 pixels (--batch and --size"));
    CHECK(strstr(result.out, "[1, 64, 112, 112]"));
    RUN("resnet18", "--format", "tabular", "--batch", "2", "--size", "64");
    CHECK(result.code == 0 && !strstr(result.err, "pixels"));
    RUN("config=tests/cli/tiny.yaml");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "layer1"));
}

SR_TESTS(graph_verb, unit(test_shufflenet), unit(test_stages), unit(test_lists_of_modes),
         unit(test_counts_of_modes), unit(test_reference_lists), unit(test_family),
         unit(test_closed_blocks), unit(test_formats), unit(test_extraction),
         unit(test_sizes_that_nobody_chose))
