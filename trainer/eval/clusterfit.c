// Clusters features with k-means and writes the files of labels, names and centroids.
#include "trainer/eval/clusterfit.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/rng.h"
#include "base/text/json.h"
#include "trainer/eval/extract/feature_files.h"

typedef struct {
    const SrClusterConfig *config;
    uint64_t seed;
    const char *wanted; // layer asked for, or NULL
    const char *layer;  // for names of files
    int d;              // numbers of a feature, too
    SrKmeans km;
    SrClusterReport *out;
} Run;

static SrStatus out_of_memory(void) { return sr_out_of_memory("clusters"); }

// "<dir>/NAME_train_LAYER_N10_D512_labels.npy"
static SrStatus file_name(const Run *r, const char *split, const char *what, char out[4096]) {
    char name[1024];
    const SrClusterConfig *c = r->config;
    snprintf(name, sizeof name, "%s%s%s_%s_N%d_D%d_%s.npy", *c->name ? c->name : "features",
             *split ? "_" : "", split, r->layer, c->clusters, r->d, what);
    return sr_file_join(out, 4096, c->output_dir, name);
}

// ---- files --------------------------------------------------------------------------------------

static SrStatus save_side(const Run *r, const char *split, const SrFeatureNames *names,
                          const int64_t *label, SrClusterSide *side) {
    SR_TRY(file_name(r, split, "labels", side->labels));
    SR_TRY(sr_npy_save(side->labels, "<i8", SR_SHAPE((int)side->n), label,
                       (size_t)side->n * sizeof *label));
    if (!sr_feature_names_files_known(names, side->n)) // a synthetic set has no files
        return SR_OK;
    SR_TRY(file_name(r, split, "images", side->images));
    return sr__feature_names_save(&names->files, side->images);
}

// ---- sides --------------------------------------------------------------------------------------

static SrStatus count_sizes(const Run *r, const int64_t *label, const float *distance,
                            SrClusterSide *side) {
    int64_t *count = sr_calloc((size_t)r->km.k, sizeof *count);
    if (!count)
        return out_of_memory();
    for (int64_t i = 0; i < side->n; i++) {
        count[label[i]]++;
        side->spread += (double)distance[i] / (double)side->n;
    }
    side->smallest = side->n;
    for (int c = 0; c < r->km.k; c++) {
        side->smallest = SR_MIN(side->smallest, count[c]);
        side->largest = SR_MAX(side->largest, count[c]);
    }
    sr_free(count);
    return SR_OK;
}

static SrStatus label_side(Run *r, const char *split, const SrMatrix *f,
                           const SrFeatureNames *names) {
    SrClusterSide *side = &r->out->side[r->out->n_sides++];
    int64_t *label = sr_alloc((size_t)f->n * sizeof *label);
    float *distance = sr_alloc((size_t)f->n * sizeof *distance);
    const SrRowView rows = sr_row_view(f);
    SrStatus status;
    *side = (SrClusterSide){.n = f->n};
    SR_TRY_GOTO(label && distance ? SR_OK : out_of_memory());
    SR_TRY_GOTO(sr_kmeans_assign(&r->km, &rows, label, distance));
    SR_TRY_GOTO(count_sizes(r, label, distance, side));
    SR_TRY_GOTO(sr_kmeans_purity(f, label, r->km.k, &side->purity));
    SR_TRY_GOTO(save_side(r, split, names, label, side));
done:
    sr_free(label);
    sr_free(distance);
    return status;
}

// Chooses the rows that centres are computed from: all, or a drawn part.
static SrStatus fit(Run *r, const SrMatrix *f) {
    const SrClusterConfig *c = r->config;
    SrKmeansOptions o = {
        .k = c->clusters, .iterations = c->iterations, .seed = r->seed, .spherical = c->spherical};
    const SrRowView rows = sr_row_view(f);
    if (c->limit < 0 || c->limit >= f->n)
        return sr_kmeans(&o, &rows, &r->km);
    uint32_t *order = sr_alloc((size_t)f->n * sizeof *order);
    int64_t *row = sr_alloc((size_t)c->limit * sizeof *row + 1);
    SrStatus status = order && row ? SR_OK : out_of_memory();
    if (status == SR_OK) {
        SrRng rng = sr_rng((uint64_t)c->limit_seed, SR_RNG_CLUSTER, 1, 0, 0, 0);
        sr_rng_permutation(&rng, order, (uint32_t)f->n);
        for (int64_t i = 0; i < c->limit; i++)
            row[i] = order[i];
        const SrRowView part = sr_row_view_pick(&rows, row, c->limit);
        status = sr_kmeans(&o, &part, &r->km);
    }
    sr_free(order);
    sr_free(row);
    return status;
}

// Reads one file after the other: the training features are freed before the test's are read.
static SrStatus run_side(Run *r, const char *path, const char *split, bool learn) {
    SrMatrix f = {0};
    SrFeatureNames names = {0};
    SrFeatureFiles from = {.path = path, .layer = r->wanted, .split = split};
    char *centers = r->out->centers;
    SrStatus status;
    SR_TRY_GOTO(sr_features_load(&from, &f, &names));
    if (r->config->normalize)
        sr_matrix_normalize(&f, 0);
    if (learn) {
        SR_TRY_GOTO(fit(r, &f));
        SR_TRY_GOTO(file_name(r, "", "centers", centers));
        SR_TRY_GOTO(sr_npy_save(centers, "<f4", SR_SHAPE(r->km.k, r->km.d), r->km.centre,
                                (size_t)r->km.k * (size_t)r->km.d * sizeof(float)));
    }
    SR_TRY_GOTO(label_side(r, split, &f, &names));
done:
    sr_matrix_deinit(&f);
    sr_feature_names_deinit(&names);
    return status;
}

static SrStatus check_new(const Run *r, const char *split, const char *what, bool force) {
    char path[4096];
    SR_TRY(file_name(r, split, what, path));
    return sr_file_check_new(path, force);
}

// Fails before anything is computed: a side that cannot be opened, sides of other lengths, files
// that exist.
static SrStatus look(Run *r, const char *train, const char *test, bool force) {
    int64_t n;
    int d;
    SrFeatureFiles from = {.path = train, .layer = r->wanted, .split = "train"},
                   to = {.path = test, .layer = r->wanted, .split = "test"};
    SR_TRY(sr_features_measure(&from, &n, &r->d));
    if (test)
        SR_TRY(sr_features_measure(&to, &n, &d));
    if (test && d != r->d)
        SR_FAIL(SR_ERR_CONFIG, "%s has rows of %d numbers, but %s has rows of %d", test, d, train,
                r->d);
    for (int i = 0; i < (test ? 2 : 1); i++) {
        SR_TRY(check_new(r, i ? "test" : "train", "labels", force));
        SR_TRY(check_new(r, i ? "test" : "train", "images", force));
    }
    return check_new(r, "", "centers", force);
}

static void take_back_file(const char *path) {
    if (*path)
        (void)sr_file_remove(path);
}

// Removes the files that were written before a failure.
static void take_back(const SrClusterReport *r) {
    take_back_file(r->centers);
    for (int i = 0; i < r->n_sides; i++) {
        take_back_file(r->side[i].labels);
        take_back_file(r->side[i].images);
    }
}

SrStatus sr_cluster(const SrConfig *config, const char *train, const char *test, const char *layer,
                    bool force, SrClusterReport *out) {
    double began = sr_clock();
    if (!layer && *config->cluster.layer)
        layer = config->cluster.layer;
    Run r = {.config = &config->cluster,
             .seed = config->seed,
             .wanted = layer,
             .layer = layer ? layer : "features",
             .out = out};
    *out = (SrClusterReport){.clusters = config->cluster.clusters};
    SR_TRY(look(&r, train, test, force));
    SR_TRY(sr_file_mkdirs(config->cluster.output_dir));
    SrStatus status = run_side(&r, train, "train", true);
    if (status == SR_OK && test)
        status = run_side(&r, test, "test", false);
    out->d = r.km.d;
    out->iterations = r.km.iterations;
    out->seconds = sr_clock() - began;
    sr_kmeans_deinit(&r.km);
    if (status != SR_OK && !force)
        take_back(out);
    return status;
}

// ---- in words -----------------------------------------------------------------------------------

static const char *const side_names[] = {"train", "test"};

void sr_cluster_text(const SrClusterReport *r, SrText *out) {
    char took[48];
    sr_text_printf(out, "%d clusters, centres of %d numbers, %d iterations, %s\n", r->clusters,
                   r->d, r->iterations, sr_duration_text(r->seconds, took, sizeof took));
    for (int s = 0; s < r->n_sides; s++) {
        const SrClusterSide *side = &r->side[s];
        sr_text_printf(out, "  %-5s  %lld images, %lld to %lld per cluster, mean distance %.5f",
                       side_names[s], (long long)side->n, (long long)side->smallest,
                       (long long)side->largest, side->spread);
        if (side->purity >= 0)
            sr_text_printf(out, ", purity %.2f %%", side->purity);
        sr_text_printf(out, "\n         %s\n", side->labels);
        if (*side->images)
            sr_text_printf(out, "         %s\n", side->images);
    }
}

void sr_cluster_json(const SrClusterReport *r, SrText *out) {
    char key[64];
    sr_json_begin(out);
    sr_json_int(out, "clusters", r->clusters);
    sr_json_int(out, "iterations", r->iterations);
    sr_json_float(out, "seconds", r->seconds);
    for (int s = 0; s < r->n_sides; s++) {
        const SrClusterSide *side = &r->side[s];
        const struct {
            const char *name;
            double value;
        } fields[] = {{"smallest", (double)side->smallest},
                      {"largest", (double)side->largest},
                      {"distance", side->spread},
                      {"purity", side->purity}};
        for (int i = 0; i < SR_COUNT(fields); i++) {
            snprintf(key, sizeof key, "%s_%s", side_names[s], fields[i].name);
            if (fields[i].value >= 0)
                sr_json_float(out, key, fields[i].value);
        }
        snprintf(key, sizeof key, "%s_labels", side_names[s]);
        sr_json_string(out, key, side->labels);
    }
    sr_json_end(out);
}
