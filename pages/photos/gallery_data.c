// Computes the data of the gallery: features, thumbnails, groups, predicted classes, maps.
#include "pages/photos/gallery_data.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "data/image_pool.h"
#include "losses/shared/prototypes.h"
#include "measure/clusters/kmeans.h"
#include "measure/neighbours/knn.h"
#include "measure/pca.h"
#include "measure/tsne.h"
#include "pages/runs/run_history.h"
#include "trainer/config/derived_config.h"
#include "trainer/eval/baselines.h"

enum { CLUSTERS = 12, CLUSTER_TURNS = 30 };

static SrStatus out_of_memory(void) { return sr_out_of_memory("the images"); }

// ---- thumbnails and names -----------------------------------------------------------------------

static SrStatus keep_name(SrGalleryData *d, const SrSplit *split, int64_t item, SrImagePool *pool) {
    const char *path = "";
    if (split->source->path)
        SR_TRY(split->source->path(split->set, item, pool, &path));
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
    return sr__string_list_add(&d->files, name ? name : "", name ? strlen(name) : 0);
}

// Fills thumbnails and names in the order of the rows of features; an image without features has
// neither.
static SrStatus fill_thumbs(SrSplit *split, SrGalleryData *d) {
    SrImagePool *pool = NULL;
    int64_t found = 0;
    SrStatus status;
    int64_t *item = sr_alloc((size_t)d->n * sizeof *item);
    d->thumbs = sr_calloc((size_t)d->n, sizeof *d->thumbs);
    SR_TRY_GOTO(item && d->thumbs ? SR_OK : out_of_memory());
    SR_TRY_GOTO(sr_image_pool_new(&pool));
    SR_TRY_GOTO(sr_feature_rows_items(split, d->n, item, &found));
    for (int i = 0; i < found; i++) {
        sr_image_pool_reset(pool);
        SR_TRY_GOTO(keep_name(d, split, item[i], pool));
        SR_TRY_GOTO(sr_thumb_of_item(split->source, split->set, item[i], pool, &d->thumbs[i]));
    }
done:
    sr_image_pool_free(pool);
    sr_free(item);
    return status;
}

static SrStatus fill_class_names(const SrSplit *bank, SrGalleryData *d) {
    d->classes = bank->n_targets ? 0 : bank->classes;
    for (int c = 0; bank->source->class_name && c < d->classes; c++) {
        const char *name = bank->source->class_name(bank->set, c);
        if (!name)
            break;
        SR_TRY(sr__string_list_add(&d->class_names, name, strlen(name)));
    }
    return SR_OK;
}

// ---- groups -------------------------------------------------------------------------------------

// Returns the output of the heads that holds scores for P prototypes; -1: none.
static int scores_of(const SrFeatureSource *s, int P) {
    for (int i = 0; i < s->taps.n; i++) {
        SrShape shape = sr_feature_source_shape(s, i);
        if (shape.rank == 2 && shape.d[1] == P)
            return i;
    }
    return -1;
}

static void take_best(const SrMatrix *scores, SrGalleryData *d) {
    for (int i = 0; i < SR_MIN(d->n, scores->n); i++) {
        const float *score = scores->x + (int64_t)i * scores->d;
        int best = 0;
        for (int p = 1; p < scores->d; p++)
            best = score[p] > score[best] ? p : best;
        d->group[i] = best;
        d->strength[i] = score[best];
    }
    d->groups = scores->d;
    d->prototypes = true;
}

static SrStatus group_by_prototypes(SrModel *model, int batch, SrSplit *split, int P,
                                    SrGalleryData *d) {
    SrFeatureSource s;
    SrMatrix scores = {0};
    SrStatus status;
    SrFeatureOptions o = {.model = model,
                          .live = true,
                          .kind = SR_FEATURES_OUTPUTS,
                          .batch = batch,
                          .height = split->h[0],
                          .width = split->w[0]};
    SR_TRY(sr_feature_source_build(&o, &s));
    int i = scores_of(&s, P);
    if (i < 0) {
        sr_feature_source_close(&s);
        return SR_OK;
    }
    sr_feature_source_keep(&s, i);
    SR_TRY_GOTO(sr_feature_source_compile(&s));
    SR_TRY_GOTO(sr_feature_rows(&s, split, &scores));
    take_best(&scores, d);
done:
    sr_feature_source_close(&s);
    sr_matrix_deinit(&scores);
    return status;
}

static SrStatus group_by_kmeans(SrGalleryData *d) {
    SrKmeans kmeans = {0};
    SrStatus status;
    SrKmeansOptions options = {
        .k = SR_MAX(SR_MIN(CLUSTERS, d->n / 4), 1), .iterations = CLUSTER_TURNS, .spherical = true};
    int64_t *label = sr_alloc((size_t)d->n * sizeof *label);
    const SrRowView rows = sr_row_view(&d->after);
    SR_TRY_GOTO(label ? sr_kmeans(&options, &rows, &kmeans) : out_of_memory());
    SR_TRY_GOTO(sr_kmeans_assign(&kmeans, &rows, label, d->strength));
    for (int i = 0; i < d->n; i++) {
        d->group[i] = (int)label[i];
        d->strength[i] = 1 - d->strength[i];
    }
    d->groups = options.k;
done:
    sr_kmeans_deinit(&kmeans);
    sr_free(label);
    return status;
}

static SrStatus fill_groups(SrModel *model, SrBaselines *rows, SrGalleryData *d) {
    SrPrototypes p;
    d->group = sr_calloc((size_t)d->n, sizeof *d->group);
    d->strength = sr_calloc((size_t)d->n, sizeof *d->strength);
    SR_TRY(d->group && d->strength ? SR_OK : out_of_memory());
    if (sr_prototypes_find(sr_model_params(model), "", 0, &p) == SR_OK)
        SR_TRY(group_by_prototypes(model, rows->batch, &rows->test, p.P, d));
    return d->prototypes ? SR_OK : group_by_kmeans(d);
}

// ---- classes and maps ---------------------------------------------------------------------------

static SrStatus vote(const SrConfig *config, SrMatrix *bank, SrGalleryData *d) {
    int k = config->knn.topk.n > 0 ? config->knn.topk.v[0] : 20;
    SrKnnOptions options = {.sigma = config->knn.sigma, .l2_norm = true};
    SrKnnResult result;
    int64_t *ranked = sr_alloc((size_t)d->n * SR_KNN_TOP * sizeof *ranked);
    d->said = sr_alloc((size_t)d->n * sizeof *d->said);
    SrStatus status = ranked && d->said ? sr_knn(&options, bank, &d->after, &k, 1, &result, ranked)
                                        : out_of_memory();
    for (int i = 0; status == SR_OK && i < d->n; i++)
        d->said[i] = (int)ranked[(int64_t)i * SR_KNN_TOP];
    if (status == SR_OK) {
        d->knn = result.top1;
        d->k = result.k;
    }
    sr_free(ranked);
    return status;
}

static SrStatus fill_maps(SrGalleryData *d) {
    d->pca = sr_calloc((size_t)d->n * 2, sizeof *d->pca);
    d->tsne = sr_calloc((size_t)d->n * 2, sizeof *d->tsne);
    SR_TRY(d->pca && d->tsne ? SR_OK : out_of_memory());
    if (d->after.d >= 2)
        SR_TRY(sr_pca(&d->after, 2, d->pca, NULL));
    return sr_tsne(&d->after, &SR_TSNE_DEFAULT, d->tsne);
}

// Computes the rows of the gallery's layer.  An evaluated stage is pooled as in the evaluation: a
// whole map of a large network would not fit into memory.
static SrStatus layer_rows(SrModel *model, const SrGalleryData *d, const SrBaselines *rows,
                           SrSplit *split, SrMatrix *out) {
    SrStages stages;
    SrMatrix joint = {0};
    int at = -1;
    if (!d->best)
        return sr_feature_rows_of_model(model, d->layer, NULL, split, rows->batch, out);
    SR_TRY(sr_feature_rows_of_model(model, d->layer, &stages, split, rows->batch, &joint));
    for (int i = 0; i < stages.n; i++)
        at = strcmp(stages.v[i].name, d->layer) == 0 ? i : at;
    SrStatus status = at >= 0 ? sr_stages_take(&stages, at, &joint, out)
                              : sr_fail(SR_ERR_CONFIG,
                                        "the trunk has no layer '%s', which metrics.json names as "
                                        "the best; evaluate the run once more",
                                        d->layer);
    sr_matrix_deinit(&joint);
    return status;
}

// Opens the trunk before training: with the weights that the run began from, else as drawn.  The
// file of the weights may be gone when a page is written later.
static SrStatus open_before(const SrBaselines *rows, SrGalleryData *d, SrModel **out) {
    d->lost_start = sr_baselines_start(rows->config, rows->layer, out) != SR_OK;
    if (d->lost_start)
        sr_status_clear();
    return *out ? SR_OK
                : sr_baselines_drawn(rows->config, rows->layer, rows->batch, rows->crop, out);
}

static SrStatus fill_features(SrModel *trained, SrBaselines *rows, SrMatrix *bank,
                              SrGalleryData *d) {
    SrModel *before = NULL;
    double began = sr_clock();
    SrStatus status;
    SR_TRY(layer_rows(trained, d, rows, &rows->test, &d->after));
    if (rows->labels)
        SR_TRY(layer_rows(trained, d, rows, &rows->bank, bank));
    SR_TRY_GOTO(open_before(rows, d, &before));
    SR_TRY_GOTO(layer_rows(before, d, rows, &rows->test, &d->before));
    sr_matrix_normalize(&d->after, 0);
    sr_matrix_normalize(&d->before, 0);
    d->n = (int)d->after.n;
    d->features_s = sr_clock() - began;
done:
    sr_model_free(before);
    return status;
}

static SrStatus choose_layer(const SrConfig *config, SrGalleryData *d) {
    SR_TRY(sr_history_best_layer(config->checkpoint.dir, d->layer, sizeof d->layer));
    d->best = *d->layer != '\0';
    if (!d->best)
        snprintf(d->layer, sizeof d->layer, "%s", config->knn.layer);
    return SR_OK;
}

SrStatus sr_gallery_data_fill(const SrConfig *config, SrModel *trained, const SrGalleryOptions *o,
                              SrGalleryData *d) {
    SrConfig *limited;
    SrBaselines rows;
    SrMatrix bank = {0};
    SrStatus status;
    *d = (SrGalleryData){.n = 0};
    SR_TRY(choose_layer(config, d));
    SR_TRY(sr_config_copy(config, &limited));
    limited->knn.test_limit = o->images;
    limited->knn.bank_limit = o->bank;
    SR_TRY_GOTO(sr_baselines_open(&rows, limited, config->knn.layer));
    SR_TRY_GOTO(fill_features(trained, &rows, &bank, d));
    if (d->n < 1)
        SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG, "no test image can be read"));
    SR_TRY_GOTO(fill_class_names(&rows.bank, d));
    SR_TRY_GOTO(fill_thumbs(&rows.test, d));
    SR_TRY_GOTO(fill_groups(trained, &rows, d));
    if (rows.labels && rows.bank.n_targets == 0)
        SR_TRY_GOTO(vote(limited, &bank, d));
    SR_TRY_GOTO(fill_maps(d));
    SR_TRY_GOTO(sr_attention_maps_fill(trained, &rows, &d->attention));
done:
    sr_matrix_deinit(&bank);
    sr_baselines_close(&rows);
    sr_config_free(limited);
    return status;
}

void sr_gallery_data_deinit(SrGalleryData *d) {
    sr_matrix_deinit(&d->after);
    sr_matrix_deinit(&d->before);
    sr__string_list_deinit(&d->class_names);
    sr__string_list_deinit(&d->files);
    for (int i = 0; d->thumbs && i < d->n; i++)
        sr_thumb_deinit(&d->thumbs[i]);
    sr_free(d->thumbs);
    sr_free(d->said);
    sr_free(d->group);
    sr_free(d->strength);
    sr_free(d->pca);
    sr_free(d->tsne);
    sr_attention_maps_deinit(&d->attention);
    *d = (SrGalleryData){.n = 0};
}

const char *sr_gallery_class(const SrGalleryData *d, int64_t c, char buffer[24]) {
    snprintf(buffer, 24, c < 0 ? "none" : "class %d", (int)c);
    return c >= 0 && c < d->class_names.n ? sr__string_list_get(&d->class_names, c) : buffer;
}

// Selects one row after the other, because `count` is small.
int sr_gallery_nearest(const SrMatrix *f, int i, int count, int *out) {
    int n = 0;
    double last = 2;
    int last_row = -1;
    while (n < count) {
        int best = -1;
        double most = -2;
        for (int j = 0; j < f->n; j++) {
            double product = 0;
            for (int c = 0; c < f->d; c++)
                product +=
                    (double)f->x[(int64_t)i * f->d + c] * (double)f->x[(int64_t)j * f->d + c];
            bool taken = product > last || (product == last && j <= last_row);
            if (j == i || taken || product <= most)
                continue;
            most = product;
            best = j;
        }
        if (best < 0)
            break;
        out[n++] = best;
        last = most;
        last_row = best;
    }
    return n;
}
