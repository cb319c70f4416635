// Opens a run folder for a page: its history, its record and its configuration.
#include "pages/runs/run_page.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"

bool sr_run_is_folder(const char *path) {
    static const char *const files[] = {"stdout.json", "metrics.json", "train_config.yaml"};
    char file[4096];
    for (int i = 0; i < SR_COUNT(files); i++)
        if (sr_file_join(file, sizeof file, path, files[i]) == SR_OK && sr_file_exists(file))
            return true;
    return false;
}

SrStatus sr_run_page_open(const char *run, SrRunPage *out) {
    char path[4096];
    *out = (SrRunPage){.run = run};
    if (!sr_run_is_folder(run))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: no folder of a run: none of stdout.json, metrics.json and train_config.yaml "
                "lies there",
                run);
    SR_TRY(sr_history_read(run, &out->history));
    SR_TRY(sr_run_record_read(run, &out->record));
    SR_TRY(sr_file_join(path, sizeof path, run, "train_config.yaml"));
    SrYaml *tree = NULL;
    if (sr_file_exists(path)) {
        SR_TRY(sr_yaml_load(&out->arena, path, &tree));
        out->config = sr_yaml_find(tree, "config");
    }
    out->epochs = sr_tree_int(out->config, "OPTIMIZER.num_epochs", 0);
    out->batch = sr_tree_int(out->config, "DATA.TRAIN.BATCHSIZE_PER_REPLICA", 0) *
                 SR_MAX(sr_tree_int(out->config, "DISTRIBUTED.REPLICAS", 1), 1);
    for (int i = 0; i < out->history.n_epochs; i++)
        if (!isnan(out->history.epoch[i].loss))
            out->done = (int64_t)out->history.epoch[i].epoch + 1;
    bool finished = out->epochs > 0 && out->done >= out->epochs;
    out->live = sr_run_is_live(run);
    out->state = finished ? "finished" : out->live ? "training" : "stopped";
    return SR_OK;
}

void sr_run_page_close(SrRunPage *p) {
    sr_history_deinit(&p->history);
    sr_run_record_deinit(&p->record);
    sr_arena_deinit(&p->arena);
}

int sr_run_sweep_length(const char *run) {
    const char *slash = strrchr(run, '/'), *last = slash ? slash + 1 : run;
    if (!sr_text_starts(last, "seed") || !last[4] ||
        strspn(last + 4, "0123456789") != strlen(last + 4))
        return -1;
    return slash ? (int)(slash - run) : 0;
}

const char *sr_run_page_name(const SrRunPage *p) {
    int n = sr_run_sweep_length(p->run);
    const char *end = p->run + (n > 0 ? (size_t)n : strlen(p->run)), *at = end;
    while (at > p->run && (at[-1] != '/' || at == end))
        at--;
    return at;
}

// Finds, for example, "pixels_top1_k20" in the last report by the beginning of its key.
double sr_run_report_figure(const SrYaml *report, const char *prefix) {
    for (int i = 0; report && i < report->n; i++) {
        const SrYaml *v = report->items[i];
        if (sr_text_starts(report->keys[i], prefix) &&
            (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT))
            return v->f;
    }
    return NAN;
}

double sr_run_last_probe(const SrHistory *h) {
    double knn = NAN;
    for (int i = 0; i < h->n_epochs; i++)
        knn = isnan(h->epoch[i].knn) ? knn : h->epoch[i].knn;
    return isnan(knn) ? sr_run_report_figure(h->knn, "trained_top1") : knn;
}
