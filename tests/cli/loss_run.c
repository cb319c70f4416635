// Writes configurations that train an example of a loss, and checks what it leaves (loss_run.h).
#include "tests/cli/loss_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text/text.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "trainer/run/run_folder.h"

// Adds the views of an example; consecutive views of one size form a group of crops.
static void add_views(const SrLossExample *e, SrText *out) {
    SrText counts = SR_TEXT_INIT, sizes = SR_TEXT_INIT, scales = SR_TEXT_INIT;
    int n = 0;
    for (int first = 0; e->sizes[first]; first = n) {
        const char *comma = first ? ", " : "";
        while (e->sizes[n] == e->sizes[first])
            n++;
        sr_text_printf(&counts, "%s%d", comma, n - first);
        sr_text_printf(&sizes, "%s%d", comma, e->sizes[first]);
        sr_text_printf(&scales, "%s[0.3, 1.0]", comma);
    }
    sr_text_printf(out,
                   "{name: ImgPilToMultiCrop, total_num_crops: %d, num_crops: [%s], size_crops: "
                   "[%s], crop_scales: [%s]}",
                   n, counts.s, sizes.s, scales.s);
    sr_text_deinit(&counts);
    sr_text_deinit(&sizes);
    sr_text_deinit(&scales);
}

void loss_run_config(const char *path, const SrLoss *loss, const SrLossExample *e, LossRun run) {
    SrText t = SR_TEXT_INIT;
    sr_text_printf(&t,
                   "LOG_FREQUENCY: 1\nTEST_MODEL: False\nDATA:\n  NUM_DATALOADER_WORKERS: 1\n"
                   "  TRAIN: {DATA_SOURCES: [synthetic], RANDOM_SYNTHETIC_IMAGES: True, "
                   "RANDOM_SYNTHETIC_LABELS: 4, DEFAULT_GRAY_IMG_SIZE: 20, DATA_LIMIT: %d, "
                   "BATCHSIZE_PER_REPLICA: %d, COLLATE_FUNCTION: %s, TRANSFORMS: [",
                   run.steps * run.replicas * run.images + 3, run.images,
                   e->patch ? "ibot_multicrop_masking_collator" : "multicrop_collator");
    add_views(e, &t);
    char masks[96] = "";
    if (e->patch)
        snprintf(masks, sizeof masks, ", {name: MaskedImageModeling, patch_size: %d}", e->patch);
    sr_text_add(&t, ", {name: RandomHorizontalFlip}, {name: ToTensor}, {name: Normalize}");
    sr_text_printf(&t,
                   "%s]}\nMODEL:\n  TRUNK: {%s}\n  HEAD: {PARAMS: %s}\n%s%s\n"
                   "LOSS: {name: %s, %s: %s}\n"
                   "OPTIMIZER: {num_epochs: 1, momentum: 0.9, weight_decay: 0.0001, "
                   "param_schedulers: {lr: {name: cosine, start_value: 0.01, end_value: 0.001}}}\n"
                   "CHECKPOINT: {CHECKPOINT_ITER_FREQUENCY: 1, KEEP_LAST: 2}\n"
                   "DISTRIBUTED: {REPLICAS: %d}\n",
                   masks,
                   e->trunk ? e->trunk
                            : "NAME: resnet, RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625, "
                              "SMALL_IMAGE_STEM: True}",
                   e->heads, e->more ? "  " : "", e->more ? e->more : "", loss->name,
                   strchr(loss->subtree, '.') + 1, e->options ? e->options : "{}", run.replicas);
    CHECK_OK(sr_file_write_text(path, &t));
    sr_text_deinit(&t);
}

// Numbers that are not finite are null in JSON.
static int check_losses(const char *run) {
    static const char key[] = "\"loss\": ";
    char path[256], line[4096];
    int n = 0;
    snprintf(path, sizeof path, "%s/stdout.json", run);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f)) {
        char *at = strstr(line, key), *end = NULL;
        double loss = at ? strtod(at + strlen(key), &end) : NAN;
        if (!at || end == at + strlen(key) || !isfinite(loss))
            fail_msg("%s: line %d has no finite loss: %s", path, n + 1, line);
        n++;
    }
    fclose(f);
    return n;
}

static void check_weights(const char *run) {
    char path[256];
    SrSafetensors st;
    CHECK_OK(sr_folder_newest(run, path, sizeof path));
    CHECK_OK(sr_safetensors_open(&st, path));
    for (int i = 0; i < st.n; i++) {
        SrTensor t = st.tensors[i].tensor;
        for (int64_t k = 0; t.dtype == SR_F32 && k < sr_shape_count(t.shape); k++)
            if (!isfinite(((const float *)t.data)[k]))
                fail_msg("%s: number %lld of '%s' is not finite", path, (long long)k,
                         st.tensors[i].name);
    }
    sr_safetensors_close(&st);
}

int loss_run_check_numbers(const char *run) {
    check_weights(run);
    return check_losses(run);
}
