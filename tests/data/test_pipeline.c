// Tests lists of transforms: what is refused, and the words of each error.
#include <string.h>

#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "data/pipeline.h"
#include "tests/check.h"

#define WHERE "DATA.TRAIN.TRANSFORMS"

static SrStatus parse(const char *yaml, SrPipeline **out) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *list;
    *out = NULL;
    CHECK_OK(sr_yaml_parse(&arena, yaml, strlen(yaml), "swav.yaml", &list));
    SrStatus status = sr_pipeline_new(list, WHERE, out);
    sr_arena_deinit(&arena);
    return status;
}

static void refused(const char *yaml, const char *words) {
    SrPipeline *p;
    CHECK_FAILS(parse(yaml, &p), SR_ERR_CONFIG, words);
    CHECK(p == NULL);
}

// The list parses, but its views cannot form a batch; the error contains `words`.
static void shapeless(const char *yaml, const char *words) {
    SrPipeline *p;
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    CHECK_OK(parse(yaml, &p));
    CHECK_FAILS(sr_pipeline_shape(p, &n, h, w), SR_ERR_CONFIG, words);
    sr_pipeline_free(p);
}

TEST(test_refused) {
    int64_t live = sr_mem_live();
    refused("{a: 1}", "expected a list");
    refused("[5]", "map with a key `name`");
    refused("[{size: 4}]", "map with a key `name`");
    refused("[{name: RandomHorizontalFlop}]", "RandomHorizontalFlip");
    refused("[{name: ToTensor}, {name: CenterCrup, size: 3}]", "swav.yaml:1");
    refused("[{name: CenterCrop, sise: 3}]", "size");
    refused("[{name: CenterCrop, size: 0}]", "size");
    refused("[{name: CenterCrop, size: [1, 2, 3]}]", "[height, width]");
    refused("[{name: RandomHorizontalFlip, p: 1.5}]", "p");
    refused("[{name: RandomResizedCrop, scale: [0.5, 0.2]}]", "low <= high");
    refused("[{name: ImgPilGaussianBlur, radius_min: 3, radius_max: 2}]", "radius_min 3 is above");
    refused("[{name: Normalize, mean: [0.5]}]", "expected 3");
    refused("[{name: ColorJitter, brightness: [0.1, 0.2, 0.3]}]", "brightness");
    refused("[{name: ImgPilToMultiCrop, total_num_crops: 3}]", "add up to 2");
    refused("[{name: ImgPilToMultiCrop, num_crops: [1, 1]}]", "expected equal");
    refused("[{name: ImgPilToMultiCrop, crop_scales: [[0.5, 0.1]]}]", "0 < low <= high");
    refused("[{name: ImgPilMultiCropRandomApply, transforms: [{name: ToTensor}]}]",
            "inside another");
    refused("[{name: ImgPilMultiCropRandomApply, transforms: [{name: Nothing}]}]",
            "unknown transform");
    CHECK_INT(sr_mem_live(), live);
}

TEST(test_shapes) {
    shapeless("[]", "no ToTensor");
    shapeless("[{name: ToTensor}]", "in the size of its file");
    shapeless("[{name: RandomHorizontalFlip}, {name: ToTensor}]", "in the size of its file");
    shapeless("[{name: Normalize}]", "after ToTensor");
    shapeless("[{name: CenterCrop, size: 8}, {name: ToTensor}, {name: RandomGrayscale}]",
              "before ToTensor");
    shapeless("[{name: CenterCrop, size: 8}, {name: ToTensor}, {name: ToTensor}]",
              "before ToTensor");
    shapeless("[{name: ImgReplicatePil}, {name: ImgReplicatePil}, {name: ToTensor}]", "makes 2");
    shapeless("[{name: ImgReplicatePil}, {name: ImgPilMultiCropRandomApply, prob: [1]}, {name: "
              "ToTensor}]",
              "1 entries, but there are 2 crops");
    shapeless(
        "[{name: ImgPilMultiCropRandomApply, prob: [1], transforms: [{name: CenterCrop, size: 8}]},"
        " {name: ToTensor}]",
        "change the size");
    SrPipeline *p;
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    CHECK_OK(parse("[{name: Resize, size: 32, interpolation: 3}, {name: CenterCrop, size: [28, "
                   "20]}, {name: ToTensor},"
                   " {name: Normalize, indices: [0]}]",
                   &p));
    CHECK_OK(sr_pipeline_shape(p, &n, h, w));
    CHECK_INT(n, 1);
    CHECK_INT(h[0], 28);
    CHECK_INT(w[0], 20);
    sr_pipeline_free(p);
    // If all files are square the views have one size.
    CHECK_OK(parse("[{name: Resize, size: 32}, {name: ToTensor}]", &p));
    CHECK_OK(sr_pipeline_shape(p, &n, h, w));
    CHECK(n == 1 && h[0] == 32 && w[0] == 32);
    sr_pipeline_free(p);
    // A known size stays known: 40 x 60 resized to a shorter side of 20.
    CHECK_OK(parse(
        "[{name: CenterCrop, size: [40, 60]}, {name: Resize, size: 20}, {name: ToTensor}]", &p));
    CHECK_OK(sr_pipeline_shape(p, &n, h, w));
    CHECK_INT(h[0], 20);
    CHECK_INT(w[0], 30);
    sr_pipeline_free(p);
    sr_pipeline_free(NULL);
}

TEST(test_too_long) {
    char yaml[4096] = "[";
    for (int i = 0; i < 33; i++)
        strcat(yaml, "{name: RandomGrayscale}, ");
    strcat(yaml, "{name: ToTensor}]");
    refused(yaml, "at most 32");
}

TEST(test_out_of_memory) {
    const char *yaml = "[{name: CenterCrop, size: 8}, {name: ImgPilMultiCropRandomApply, prob: [1],"
                       " transforms: [{name: RandomGrayscale}]}, {name: ToTensor}]";
    SrArena arena = SR_ARENA_INIT;
    SrYaml *list;
    SrPipeline *p = NULL;
    CHECK_OK(sr_yaml_parse(&arena, yaml, strlen(yaml), "test", &list));
    int64_t live = sr_mem_live();
    SrStatus status = SR_ERR_MEMORY;
    for (int at = 1; at < 100 && status != SR_OK; at++) {
        sr_mem_fail_at(at);
        status = sr_pipeline_new(list, WHERE, &p);
        sr_mem_fail_at(0);
        if (status != SR_OK) {
            CHECK_INT(status, SR_ERR_MEMORY);
            CHECK_INT(sr_mem_live(), live);
        }
    }
    CHECK_OK(status);
    sr_pipeline_free(p);
    sr_arena_deinit(&arena);
}

SR_TESTS(pipeline, unit(test_refused), unit(test_shapes), unit(test_too_long),
         unit(test_out_of_memory))
