// sslrun cluster TRAIN [TEST]: clusters features by k-means and writes files of labels.
// sslrun cluster DIR --hierarchical: chooses a balanced subset of a folder of images.
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text/yaml_print.h"
#include "cli/args/eval_sets_args.h"
#include "cli/findings.h"
#include "cli/folder_rows.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "measure/clusters/kmeans_tree.h"
#include "trainer/eval/clusterfit.h"

static SrStatus need_features(const char *name) {
    if (!sr_args_is_features(name))
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun cluster needs features, but '%s' holds none; `sslrun extract MODEL "
                "--weights FILE --nodes flatten --data DIR --out FEATURES` writes them",
                name);
    return SR_OK;
}

typedef struct {
    SrFolderArgs folder;
    SrFindingsArgs to;
    bool force;
    const char *hierarchical, *memory;
    int sample, seed;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_ON(Options, force, "--force", "replace files that exist"),
    SR_FLAG_TEXT(Options, hierarchical, "--hierarchical", "K1,K2",
                 "clusters of each level, falling: choose a balanced subset of DIR"),
    SR_FLAG_NUMBER(Options, sample, "--sample", "images of the subset (half of them)"),
    SR_FLAG_NUMBER(Options, seed, "--seed", "seed of clusters and subset (0)"),
    SR_FOLDER_MEMORY_FLAG(Options),
    SR_FOLDER_FLAGS(Options),
    SR_FINDINGS_FORMS(Options),
    {0}};

// ---- features -----------------------------------------------------------------------------------

// Writes KEY=[PATH], with the path as YAML.
static void add_path(const char *key, const char *path, SrText *out) {
    SrYaml node = {.type = SR_YAML_STRING, .text = path};
    sr_text_printf(out, "%s=[", key);
    sr_yaml_print_flow(&node, out);
    sr_text_add(out, "]");
}

// Writes CHECKPOINT.DIR=runs/FOLDER-CLUSTERS after the folder of the labels: trainings for other
// clusters are other runs.
static void add_run(const char *labels, int clusters, SrText *out) {
    const char *folder = labels, *name = labels;
    for (const char *c = labels; *c; c++)
        if (*c == '/') {
            folder = name;
            name = c + 1;
        }
    int n = name > folder ? (int)(name - folder - 1) : 0;
    sr_text_add(out, "CHECKPOINT.DIR=runs/");
    if (n > 0)
        sr_text_addn(out, folder, (size_t)n);
    else
        sr_text_add(out, "clusterfit");
    sr_text_printf(out, "-%d", clusters);
}

// Suggests ClusterFit on the files, if the names of the images are known.
static void say_next(const SrClusterReport *r) {
    enum { BATCH = 128 };
    const SrClusterSide *train = &r->side[0];
    SrText next = SR_TEXT_INIT, images = SR_TEXT_INIT, labels = SR_TEXT_INIT, run = SR_TEXT_INIT;
    char head[96], batch[64];
    if (!*train->images)
        return;
    add_path("DATA.TRAIN.DATA_PATHS", train->images, &images);
    add_path("DATA.TRAIN.LABEL_PATHS", train->labels, &labels);
    snprintf(head, sizeof head, "MODEL.HEAD.PARAMS=[[mlp, {dims: [128, %d]}]]", r->clusters);
    snprintf(batch, sizeof batch, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=%d",
             (int)SR_MIN(train->n, BATCH));
    add_run(train->labels, r->clusters, &run);
    if (images.s && labels.s && run.s)
        SR_NEXT(&next, "trains a new trunk to predict the clusters (ClusterFit)", "train",
                "pretrain/clusterfit/clusterfit_cifar10", images.s, labels.s, head, batch, run.s);
    sr_next_say(&next);
    sr_text_deinit(&images);
    sr_text_deinit(&labels);
    sr_text_deinit(&run);
}

static SrStatus cluster_features(const Options *o, const SrArgs *args) {
    SrConfig *config;
    SrClusterReport report;
    SrText out = SR_TEXT_INIT;
    if (o->folder.model || o->to.csv || o->to.page || o->sample)
        SR_FAIL(SR_ERR_CONFIG, "--model, --csv, --page and --sample belong to --hierarchical, "
                               "which clusters a folder of images");
    if (args->n_names == 1 || args->n_names == 2)
        for (int i = 0; i < args->n_names; i++)
            SR_TRY(need_features(args->names[i]));
    else
        SR_FAIL(SR_ERR_CONFIG, "sslrun cluster needs one or two folders of features, TRAIN and "
                               "TEST, as `sslrun extract --data` writes them");
    SR_TRY(sr_config_options(args->overrides, args->n_overrides, &config));
    SrStatus status = sr_cluster(config, args->names[0], args->n_names > 1 ? args->names[1] : NULL,
                                 o->folder.layer, o->force, &report);
    sr_config_free(config);
    SR_TRY(status);
    (o->to.json ? sr_cluster_json : sr_cluster_text)(&report, &out);
    SR_TRY(sr_args_print_done(&out, report.side[0].labels));
    if (!o->to.json)
        say_next(&report);
    return SR_OK;
}

// ---- a balanced subset --------------------------------------------------------------------------

static SrStatus parse_levels(const char *text, int k[SR_KMEANS_TREE_LEVELS], int *levels) {
    const char *at = text;
    for (*levels = 0; *levels < SR_KMEANS_TREE_LEVELS; at++) {
        char *end;
        long value = strtol(at, &end, 10);
        if (end == at || value < 1 || value > 1 << 24)
            break;
        k[(*levels)++] = (int)value;
        at = end;
        if (!*at)
            return SR_OK;
        if (*at != ',')
            break;
    }
    SR_FAIL(SR_ERR_CONFIG,
            "--hierarchical %s: expected 1 to %d numbers of clusters, such as 500,50", text,
            SR_KMEANS_TREE_LEVELS);
}

static void add(SrFindings *f, const SrFolderRows *rows, const SrKmeansTree *tree, int64_t row) {
    const char *name = sr_folder_rows_name(rows, row);
    int64_t low = tree->label[0][row], high = low;
    char section[48];
    for (int l = 1; l < tree->levels; l++)
        high = tree->label[l][high];
    SrField field[] = {{"cluster", NULL, (double)low, 0},
                       {"top_cluster", NULL, (double)high, 0},
                       {"file", name, 0, 0}};
    // Text is a list of paths alone, which training reads as a data set.
    bool table = f->to.json || f->to.csv;
    sr_findings_add(f, table ? field : field + 2, table ? 3 : 1);
    snprintf(section, sizeof section, "Cluster %lld of the top level", (long long)high);
    sr_findings_photo(f, name, "", section);
}

static SrStatus choose(const Options *o, const SrFolderRows *rows, SrFindings *f) {
    SrKmeansTree tree = {0};
    int k[SR_KMEANS_TREE_LEVELS], levels;
    int64_t count = o->sample ? o->sample : (rows->rows.n + 1) / 2;
    SR_TRY(parse_levels(o->hierarchical, k, &levels));
    int64_t *chosen = sr_alloc((size_t)rows->rows.n * sizeof *chosen);
    SrStatus status = chosen ? sr_kmeans_tree(&rows->rows, k, levels, (uint64_t)o->seed, &tree)
                             : sr_out_of_memory("a subset");
    if (status == SR_OK)
        status = sr_balanced_sample(&tree, count, (uint64_t)o->seed, chosen);
    for (int64_t i = 0; status == SR_OK && i < count; i++)
        add(f, rows, &tree, chosen[i]);
    sr_kmeans_tree_deinit(&tree);
    sr_free(chosen);
    return status;
}

static SrStatus balanced_subset(const Options *o, const SrArgs *args) {
    SrFolderRows rows;
    SrFindings f = {.n = 0};
    SR_TRY(sr_folder_rows_check(args, "cluster --hierarchical"));
    if (o->sample < 0 || o->seed < 0)
        SR_FAIL(SR_ERR_CONFIG, "--sample and --seed are numbers from 1 and 0 on");
    SR_TRY(sr_folder_rows_open(&o->folder, "sslrun cluster", args->names[0], o->memory,
                               SR_FOLDER_ROWS_SEARCH, &rows));
    SrStatus status = sr_findings_init(&o->to, &f);
    if (status == SR_OK)
        status = choose(o, &rows, &f);
    if (status == SR_OK)
        status = sr_findings_end(&f, "A balanced subset",
                                 "Images that share a cluster are alike. Every cluster of the top "
                                 "level gives an equal share.",
                                 0, "");
    sr_findings_deinit(&f);
    sr_folder_rows_close(&rows);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.sample = 0};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    return o.hierarchical ? balanced_subset(&o, &args) : cluster_features(&o, &args);
}

const SrVerb sr_verb_cluster = {
    .name = "cluster",
    .group = SR_VERB_FEATURES,
    .args = "TRAIN [TEST] [CLUSTERFIT.KEY=VALUE ...]\nDIR --hierarchical K1,K2 --model RUN",
    .summary = "clusters features by k-means and writes the labels",
    .help = "TRAIN and TEST are folders of features, as `sslrun extract --data` writes them. The "
            "files of labels are those that ClusterFit and DeepCluster train on.\n\nWith "
            "--hierarchical, DIR is a folder of images. They are clustered into K1 clusters, whose "
            "centres are clustered into K2, and so on. A subset with equal shares for the clusters "
            "of every level is printed, one path per line: a list to train on.",
    .examples = {{"sslrun cluster train-features CLUSTERFIT.NUM_CLUSTERS=3",
                  "Sorts the images into three clusters."},
                 {"sslrun cluster photos --hierarchical 12,3 --sample 20 --model runs/photos",
                  "Names 20 photos that represent all kinds alike."}},
    .flags = flags,
    .run = run_verb,
};
