// Every YAML file below configs/ loads and its step can be planned, or the error names the one
// loss that is missing, and evaluates images that are no smaller than those that it trains on.
// Files of configs/optimizer/ are parts of a configuration and are added to a recipe. Runs from the
// project's folder, as `make test` does.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "trainer/data/data_split.h"
#include "trainer/run/run.h"

// A trunk that meets things at half the size that it has learned loses ten points.
static void check_sizes(const SrConfig *config, const char *path) {
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS], whole, whole_h[SR_MAX_VIEWS], whole_w[SR_MAX_VIEWS];
    if (!config->train.transforms || !config->test.transforms || config->test.transforms->n == 0)
        return;
    CHECK_OK(sr_split_train_shape(config, &n, h, w));
    CHECK_OK(sr_split_eval_shape(config, &whole, whole_h, whole_w));
    for (int i = 0; i < n; i++)
        if (h[i] > whole_h[0])
            fail_msg("%s: view %d has %d pixels, whole images have %d", path, i, h[i], whole_h[0]);
}

static SrStatus load(const char *path, SrConfig **out) {
    const char *folder = "configs/optimizer/";
    if (!sr_text_starts(path, folder))
        return sr_config_load(path, NULL, 0, out);
    char part[1024];
    snprintf(part, sizeof part, "+config/optimizer=%s", path + strlen(folder));
    const char *parts[] = {part};
    return sr_config_load("pretrain/swav/swav_cifar10", parts, 1, out);
}

// Composes, checks, builds and plans the file without data or memory, as `sslrun check` does.
static SrStatus load_and_plan(const char *path) {
    SrConfig *config = NULL;
    SrRun *run = NULL;
    SR_TRY(load(path, &config));
    SrStatus status = sr_run_open(config, SR_RUN_CHECK, &run);
    if (status == SR_OK) {
        check_sizes(config, path);
        sr_run_close(run);
    }
    sr_config_free(config);
    return status;
}

static void check_file(const char *path) {
    SrStatus status = load_and_plan(path);
    if (status != SR_OK && !strstr(sr_status_message(), "not implemented"))
        fail_msg("%s: %s", path, sr_status_message());

    char *text = NULL;
    size_t bytes = 0;
    CHECK_OK(sr_file_read(path, 1 << 20, &text, &bytes));
    if (!strstr(text, "What to expect"))
        fail_msg("%s does not open with what to expect", path);
    sr_free(text);
}

static int walk(const char *dir) {
    char **names = NULL;
    int n = 0, files = 0;
    CHECK_OK(sr_file_list(dir, &names, &n));
    for (int i = 0; i < n; i++) {
        char path[1024];
        CHECK_OK(sr_file_join(path, sizeof path, dir, names[i]));
        if (sr_file_is_dir(path)) {
            files += walk(path);
        } else if (sr_text_ends(path, ".yaml")) {
            check_file(path);
            files++;
        }
    }
    sr_file_list_free(names, n);
    return files;
}

TEST(test_all) { CHECK(walk("configs") >= 3); }

SR_TESTS(shipped_configs, unit(test_all))
