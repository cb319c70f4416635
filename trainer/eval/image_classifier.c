// Trains a linear classifier on a trunk's features, saves it, and applies it to folders of
// images. linear_probes.h is the linear evaluation by a recipe, which trains heads with SGD as
// the papers do.
#include "trainer/eval/image_classifier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/escape.h"
#include "base/text/json.h"
#include "data/image_pool.h"
#include "data/load/loader.h"
#include "formats/weights/safetensors.h"
#include "formats/weights/weights.h"
#include "kernels/core/gemm.h"
#include "measure/neighbours/knn.h"
#include "measure/probes/softmax_regression.h"

// y = w x + b: w (classes, d), b (classes).
typedef struct {
    int classes, d;
    float *w, *b;
} Linear;

static void linear_deinit(Linear *l) {
    sr_free(l->w);
    sr_free(l->b);
    *l = (Linear){0};
}

static SrStatus out_of_memory(void) { return sr_out_of_memory("a classifier"); }

// ---- training

// Fills mean and 1 / deviation of each column, (d) each.
static void measure_columns(const SrMatrix *f, double *mean, double *scale) {
    for (int j = 0; j < f->d; j++) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < f->n; i++)
            sum += (double)f->x[i * f->d + j];
        mean[j] = sum / (double)f->n;
        for (int64_t i = 0; i < f->n; i++) {
            double x = (double)f->x[i * f->d + j] - mean[j];
            square += x * x;
        }
        double std = sqrt(square / (double)f->n);
        scale[j] = std > 0 ? 1 / std : 1;
    }
}

// Turns v (classes, d + 1), for standard scores, into weights for the plain features.
static void fold(const double *v, const double *mean, const double *scale, Linear *l) {
    for (int k = 0; k < l->classes; k++) {
        const double *row = v + (int64_t)k * (l->d + 1);
        double bias = row[l->d];
        for (int j = 0; j < l->d; j++) {
            l->w[(int64_t)k * l->d + j] = (float)(row[j] * scale[j]);
            bias -= row[j] * scale[j] * mean[j];
        }
        l->b[k] = (float)bias;
    }
}

// Standardises f in place.
static SrStatus fit(SrMatrix *f, int classes, double cost, Linear *out) {
    size_t d = (size_t)f->d, k = (size_t)classes;
    *out = (Linear){classes, f->d, sr_alloc(k * d * sizeof(float)), sr_alloc(k * sizeof(float))};
    double *mean = sr_alloc(2 * d * sizeof *mean), *scale = mean ? mean + d : NULL;
    double *v = sr_alloc(k * (d + 1) * sizeof *v);
    SrStatus status = out->w && out->b && mean && v ? SR_OK : out_of_memory();
    if (status == SR_OK) {
        measure_columns(f, mean, scale);
        sr_rows_standardize(f->x, f->n, f->d, mean, scale);
        const SrRowView rows = sr_row_view(f);
        status = sr_softmax_train(&rows, classes, cost, SR_CHOSEN_PROBE_MAX_ITER, v);
    }
    if (status == SR_OK)
        fold(v, mean, scale, out);
    sr_free(mean);
    sr_free(v);
    return status;
}

// Finds the class of the highest score of one row x (d), and its probability.
static int decide(const Linear *l, const float *x, double *probability) {
    double top = -INFINITY, sum = 0;
    int best = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < l->classes; k++) {
            double score = (double)l->b[k];
            for (int j = 0; j < l->d; j++)
                score += (double)l->w[(int64_t)k * l->d + j] * (double)x[j];
            if (pass)
                sum += exp(score - top);
            else if (score > top)
                top = score, best = k;
        }
    *probability = 1 / sum;
    return best;
}

// ---- the file

static SrStatus file_name(const SrCheckpointModel *m, const char *given, char out[4096]) {
    const char *slash = strrchr(m->path, '/');
    int len = given ? snprintf(out, 4096, "%s", given)
                    : snprintf(out, 4096, "%.*slinear.safetensors",
                               slash ? (int)(slash - m->path + 1) : 0, m->path);
    return len < 4096 ? SR_OK : sr_fail(SR_ERR_CONFIG, "%s: the path is too long", m->path);
}

static SrStatus save(const SrCheckpointModel *m, const Linear *l, const SrClassifierReport *r) {
    char sum[16];
    SrTensor names;
    snprintf(sum, sizeof sum, "%08x", sr_checkpoint_model_checksum(m));
    SR_TRY(sr__feature_names_tensor(&r->names, &names));
    SrNamedTensor tensors[] = {{"weight", {SR_SHAPE(l->classes, l->d), SR_F32, l->w}},
                               {"bias", {SR_SHAPE(l->classes), SR_F32, l->b}},
                               {"classes", names}};
    const char *keys[] = {"layer", "trunk_checksum", "written_by"};
    const char *values[] = {r->layers.v[r->best].name, sum, "sslrun linear"};
    SrStatus status =
        sr_safetensors_save(r->file, tensors, r->names.n > 0 ? 3 : 2, keys, values, 3);
    sr_free(names.data);
    return status;
}

// ---- training and judging

typedef struct {
    const SrCheckpointModel *m;
    const char *layer;
    SrClassifierReport *out;
} Call;

static SrStatus choose_layer(const Call *c, const SrMatrix *train, const SrMatrix *test) {
    SrClassifierReport *r = c->out;
    const char *names[SR_STAGES_MAX];
    r->best = -1;
    for (int i = 0; i < r->layers.n; i++) {
        SrMatrix a = {0}, b = {0};
        SrStatus status;
        names[i] = r->layers.v[i].name;
        if (c->layer && strcmp(c->layer, names[i]) != 0)
            continue;
        sr_log_live("layer %s", names[i]);
        SR_TRY_GOTO(sr_stages_take(&r->layers, i, train, &a));
        SR_TRY_GOTO(sr_stages_take(&r->layers, i, test, &b));
        SR_TRY_GOTO(sr_chosen_probe(&a, &b, &r->probe[i]));
        if (r->best < 0 || r->probe[i].held_out > r->probe[r->best].held_out)
            r->best = i;
    done:
        sr_matrix_deinit(&a);
        sr_matrix_deinit(&b);
        SR_TRY(status);
    }
    if (r->best >= 0)
        return SR_OK;
    int near = sr_text_nearest(c->layer, names, r->layers.n);
    SR_FAIL(SR_ERR_CONFIG, "the trunk has no evaluation layer '%s'; the closest name is '%s'",
            c->layer, names[near >= 0 ? near : r->layers.n - 1]);
}

static SrStatus judge(SrClassifierReport *r, const Linear *l, const SrMatrix *test) {
    r->confusion = sr_calloc((size_t)r->classes * (size_t)r->classes, sizeof *r->confusion);
    r->image = sr_calloc((size_t)test->n + 1, sizeof *r->image);
    if (!r->confusion || !r->image)
        return out_of_memory();
    for (int64_t i = 0; i < test->n; i++) {
        SrClassifiedImage *image = &r->image[i];
        image->is = (int)test->label[i];
        image->said = decide(l, test->x + i * test->d, &image->sure);
        if (image->is >= 0 && image->is < r->classes)
            r->confusion[(int64_t)image->is * r->classes + image->said]++;
    }
    return SR_OK;
}

static SrStatus train_row(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    (void)row;
    Call *c = arg;
    SrClassifierReport *r = c->out;
    SrMatrix a = {0}, b = {0};
    Linear l = {0};
    SrStatus status;
    r->n_train = train->n;
    r->n_test = test->n;
    r->classes = sr_matrix_classes(train);
    if (r->layers.n < 1)
        SR_FAIL(SR_ERR_CONFIG, "the trunk has no evaluation layers");
    SR_TRY(choose_layer(c, train, test));
    SR_TRY_GOTO(sr_stages_take(&r->layers, r->best, train, &a));
    SR_TRY_GOTO(sr_stages_take(&r->layers, r->best, test, &b));
    SR_TRY_GOTO(fit(&a, r->classes, r->probe[r->best].cost, &l));
    SR_TRY_GOTO(judge(r, &l, &b));
    SR_TRY_GOTO(save(c->m, &l, r));
done:
    sr_matrix_deinit(&a);
    sr_matrix_deinit(&b);
    linear_deinit(&l);
    return status;
}

// Measures what a classifier reaches without the trunk: on raw pixels, and by the commonest class.
static SrStatus pixels_row(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    (void)row;
    const Call *c = arg;
    c->out->majority = sr_knn_majority(train, test);
    sr_log_live("raw pixels");
    return sr_chosen_probe(train, test, &c->out->pixels);
}

static SrStatus keep_names(const SrSplit *split, SrStringList *names) {
    for (int c = 0; split->source->class_name && c < split->classes; c++) {
        const char *name = split->source->class_name(split->set, c);
        if (!name) {
            sr__string_list_clear(names);
            return SR_OK;
        }
        SR_TRY(sr__string_list_add(names, name, strlen(name)));
    }
    return SR_OK;
}

// Lists the files of the test images, in the order of their rows.
static SrStatus keep_files(SrSplit *split, SrClassifierReport *r) {
    SrImagePool *pool = NULL;
    int64_t found = 0;
    SrStatus status;
    if (!split->source->path)
        return SR_OK;
    int64_t *item = sr_alloc((size_t)r->n_test * sizeof *item + 1);
    SR_TRY_GOTO(item ? SR_OK : out_of_memory());
    SR_TRY_GOTO(sr_image_pool_new(&pool));
    SR_TRY_GOTO(sr_feature_rows_items(split, r->n_test, item, &found));
    for (int64_t i = 0; i < found; i++) {
        const char *path;
        sr_image_pool_reset(pool);
        SR_TRY_GOTO(split->source->path(split->set, item[i], pool, &path));
        SR_TRY_GOTO(sr__string_list_add(&r->files, path, strlen(path)));
    }
done:
    sr_image_pool_free(pool);
    sr_free(item);
    return status;
}

// Checks the training images before anything is computed.  The choice of the penalty holds out one
// image of a class and fits on another (measure/probes/chosen_probe.h).
static SrStatus check_images(const SrSplit *bank, const char *data) {
    int64_t n = sr_loader_samples(bank->loader), most = 0;
    int64_t *count = sr_calloc((size_t)SR_MAX(bank->classes, 1), sizeof *count);
    int classes = 0;
    if (!count)
        return out_of_memory();
    for (int64_t i = 0; i < n; i++) {
        int64_t c = bank->source->label(bank->set, sr_loader_in_set(bank->loader, i));
        if (c < 0 || c >= bank->classes)
            continue;
        classes += count[c]++ == 0;
        most = SR_MAX(most, count[c]);
    }
    sr_free(count);
    if (classes >= 2 && most >= 2)
        return SR_OK;
    SR_FAIL(
        SR_ERR_CONFIG,
        "%s: a classifier needs images of two classes, and two images of one of them; %lld image%s "
        "in %d class%s %s left for training after the test images are set aside; add images",
        data, (long long)n, n == 1 ? "" : "s", classes, classes == 1 ? "" : "es",
        n == 1 ? "is" : "are");
}

// Finds out whether the file can be written, by a temporary one next to it.
static SrStatus check_file(const char *path) {
    SrFileWriter writer;
    SR_TRY(sr_file_check_new(path, true));
    SR_TRY(sr_file_begin(&writer, path));
    sr_file_abort(&writer);
    return SR_OK;
}

SrStatus sr_image_classifier_train(SrCheckpointModel *m, const char *data, const char *layer,
                                   const char *file, SrClassifierReport *out) {
    SrBaselines rows;
    SrStatus status;
    Call call = {m, layer, out};
    *out = (SrClassifierReport){.best = 0, .named = layer != NULL};
    SR_TRY(file_name(m, file, out->file));
    SR_TRY(check_file(out->file));
    if (data)
        sr_checkpoint_model_set_data(m, &data);
    SR_TRY_GOTO(sr_baselines_open(&rows, m->config, m->config->knn.layer));
    if (rows.bank.classes < 2 || rows.bank.n_targets > 0)
        SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG,
                            "%s: a classifier needs at least two classes and one class per image; "
                            "put each class into its own folder",
                            rows.bank.path));
    SR_TRY_GOTO(check_images(&rows.bank, rows.bank.path));
    SR_TRY_GOTO(keep_names(&rows.bank, &out->names));
    snprintf(out->note, sizeof out->note, "%s", rows.test.note);
    SR_TRY_GOTO(sr_baselines_pixels(&rows, pixels_row, &call));
    rows.stages = &out->layers;
    SR_TRY_GOTO(sr_baselines_each(&rows, m->model, false, train_row, &call));
    SR_TRY_GOTO(keep_files(&rows.test, out));
done:
    sr_baselines_close(&rows);
    if (data)
        sr_checkpoint_model_set_data(m, NULL);
    return status;
}

void sr_classifier_report_deinit(SrClassifierReport *r) {
    sr__string_list_deinit(&r->names);
    sr__string_list_deinit(&r->files);
    sr_free(r->confusion);
    sr_free(r->image);
    r->confusion = NULL;
    r->image = NULL;
}

// ---- in words

static const char *class_name(const SrStringList *names, int c, char number[16]) {
    snprintf(number, 16, "%d", c);
    return c < names->n ? sr__string_list_get(names, c) : number;
}

const char *sr_classifier_report_class(const SrClassifierReport *r, int c, char number[16]) {
    return class_name(&r->names, c, number);
}

static int64_t row_sum(const SrClassifierReport *r, int c) {
    int64_t sum = 0;
    for (int k = 0; k < r->classes; k++)
        sum += r->confusion[(int64_t)c * r->classes + k];
    return sum;
}

double sr_classifier_report_accuracy(const SrClassifierReport *r) {
    int64_t right = 0, all = 0;
    for (int c = 0; c < r->classes; c++) {
        right += r->confusion[(int64_t)c * r->classes + c];
        all += row_sum(r, c);
    }
    return all ? 100 * (double)right / (double)all : 0;
}

enum { WIDEST_MATRIX = 24 }; // classes whose confusion fits a screen

static void add_class(const SrClassifierReport *r, int c, SrText *out) {
    char number[16];
    int64_t n = row_sum(r, c), right = r->confusion[(int64_t)c * r->classes + c];
    sr_text_printf(out, "  %-20s", class_name(&r->names, c, number));
    if (n)
        sr_text_printf(out, "  %6.2f %%  of %5lld", 100 * (double)right / (double)n, (long long)n);
    else
        sr_text_add(out, "        -  of     0");
    for (int k = 0; r->classes <= WIDEST_MATRIX && k < r->classes; k++)
        sr_text_printf(out, " %5lld", (long long)r->confusion[(int64_t)c * r->classes + k]);
    sr_text_add(out, "\n");
}

void sr_classifier_report_text(const SrClassifierReport *r, SrText *out) {
    sr_text_printf(out, "linear: %.2f %% of %lld test images, trained on %lld, layer %s%s%s\n",
                   sr_classifier_report_accuracy(r), (long long)r->n_test, (long long)r->n_train,
                   r->layers.v[r->best].name, *r->note ? "; " : "", r->note);
    for (int i = 0; i < r->layers.n; i++)
        if (r->probe[i].cost > 0)
            sr_text_printf(out, "  layer %-12s %6.2f %%  (%.2f %% of training images held out)\n",
                           r->layers.v[i].name, r->probe[i].test, r->probe[i].held_out);
    sr_text_printf(out, "  %-18s %6.2f %%  (the same classifier without a trunk)\n", "raw pixels",
                   r->pixels.test);
    sr_text_printf(out, "  %-18s %6.2f %%  (always the commonest class)\n", "majority class",
                   r->majority);
    sr_text_printf(out, "  class                 right          images%s\n",
                   r->classes <= WIDEST_MATRIX ? ", and what they were mistaken for" : "");
    for (int c = 0; c < r->classes; c++)
        add_class(r, c, out);
    sr_text_printf(out, "the classifier is kept in %s\n", r->file);
}

static void quote(const char *s, SrText *out) {
    const SrYaml node = {.type = SR_YAML_STRING, .text = s};
    sr_json_print(&node, out);
}

// Writes the confusion matrix as a list of rows, one per class.
static void json_confusion(const SrClassifierReport *r, SrText *out) {
    char number[16];
    sr_text_add(out, ", \"classes\": [");
    for (int c = 0; c < r->classes; c++) {
        sr_text_add(out, c ? ", " : "");
        quote(class_name(&r->names, c, number), out);
    }
    sr_text_add(out, "], \"confusion\": [");
    for (int64_t i = 0; i < (int64_t)r->classes * r->classes; i++)
        sr_text_printf(out, "%s%lld%s",
                       i % r->classes ? ", "
                       : i            ? ", ["
                                      : "[",
                       (long long)r->confusion[i], (i + 1) % r->classes ? "" : "]");
    sr_text_add(out, "]");
}

void sr_classifier_report_json(const SrClassifierReport *r, SrText *out) {
    sr_text_printf(
        out, "{\"accuracy\": %.6g, \"test_images\": %lld, \"train_images\": %lld, \"layer\": ",
        sr_classifier_report_accuracy(r), (long long)r->n_test, (long long)r->n_train);
    quote(r->layers.v[r->best].name, out);
    sr_text_add(out, ", \"file\": ");
    quote(r->file, out);
    sr_json_float(out, "pixels", r->pixels.test);
    sr_json_float(out, "majority", r->majority);
    json_confusion(r, out);
    sr_text_add(out, "}\n");
}

// ---- applying

// Copies the weights, because the tensors belong to the open file.
static SrStatus read_linear(SrWeights *w, const char *file, Linear *l) {
    SrTensor weight, bias;
    int i = sr_weights_find(w, "weight"), j = sr_weights_find(w, "bias");
    if (i < 0 || j < 0 || w->tensors[i].shape.rank != 2 || w->tensors[j].shape.rank != 1 ||
        w->tensors[i].shape.d[0] != w->tensors[j].shape.d[0] || w->tensors[i].dtype != SR_F32 ||
        w->tensors[j].dtype != SR_F32 || w->tensors[i].shape.d[0] < 1)
        SR_FAIL(SR_ERR_CONFIG, "%s holds no classifier of `sslrun linear`", file);
    l->classes = w->tensors[i].shape.d[0];
    l->d = w->tensors[i].shape.d[1];
    l->w = sr_alloc(w->tensors[i].bytes);
    l->b = sr_alloc(w->tensors[j].bytes);
    if (!l->w || !l->b)
        return out_of_memory();
    SR_TRY(sr_weights_read(w, i, &weight));
    memcpy(l->w, weight.data, w->tensors[i].bytes);
    SR_TRY(sr_weights_read(w, j, &bias));
    memcpy(l->b, bias.data, w->tensors[j].bytes);
    return SR_OK;
}

static SrStatus load(const SrCheckpointModel *m, const char *file, Linear *l, char layer[64],
                     SrStringList *names) {
    SrWeights w;
    SrStatus status;
    char sum[16], word[4096];
    snprintf(sum, sizeof sum, "%08x", sr_checkpoint_model_checksum(m));
    if (!sr_file_exists(file))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: there is no classifier; `sslrun linear %s --data DIR` trains one", file,
                sr_text_word(m->path, word, sizeof word));
    SR_TRY_GOTO(sr_weights_open(&w, file));
    SR_TRY_GOTO(read_linear(&w, file, l));
    const char *of = sr_weights_meta(&w, "trunk_checksum"), *name = sr_weights_meta(&w, "layer");
    if (!of || !name || strcmp(of, sum) != 0)
        SR_TRY_GOTO(sr_fail(
            SR_ERR_CONFIG,
            "the classifier %s belongs to another trunk than %s; train one with `sslrun linear`",
            file, m->path));
    snprintf(layer, 64, "%s", name);
    SR_TRY_GOTO(sr__feature_names_read(file, "classes", -1, names));
done:
    sr_weights_close(&w);
    return status;
}

static void add_decision(const char *path, const char *class, double p, bool json, SrText *out) {
    if (!json) {
        sr_escape_line(path, out);
        sr_text_add(out, "\t");
        sr_escape_line(class, out);
        sr_text_printf(out, "\t%.4f\n", p);
        return;
    }
    sr_json_begin(out);
    sr_json_string(out, "file", path);
    sr_json_string(out, "class", class);
    sr_json_float(out, "probability", p);
    sr_json_end(out);
}

typedef struct {
    int64_t at; // image
    int class;
    double probability;
} Decision;

static int doubtful_first(const void *a, const void *b) {
    const Decision *x = a, *y = b;
    if (x->probability != y->probability)
        return x->probability < y->probability ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static SrStatus decide_all(const Linear *l, const SrStages *layers, const char *layer,
                           const SrMatrix *f, const SrStringList *files, const SrStringList *names,
                           bool by_doubt, bool json, SrText *out) {
    int at = 0;
    while (at < layers->n && strcmp(layers->v[at].name, layer) != 0)
        at++;
    const SrStage *v = &layers->v[at];
    if (at == layers->n || v->rows * v->columns * v->depth != l->d)
        SR_FAIL(
            SR_ERR_CONFIG,
            "the classifier needs the layer '%s' with %d numbers, but the trunk has no such layer",
            layer, l->d);
    Decision *all = sr_alloc((size_t)SR_MAX(f->n, 1) * sizeof *all);
    if (!all)
        return out_of_memory();
    for (int64_t i = 0; i < f->n; i++) {
        all[i].at = i;
        all[i].class = decide(l, f->x + i * f->d + v->first, &all[i].probability);
    }
    if (by_doubt)
        qsort(all, (size_t)f->n, sizeof *all, doubtful_first);
    for (int64_t i = 0; i < f->n; i++) {
        char number[16];
        add_decision(sr__string_list_get(files, all[i].at), class_name(names, all[i].class, number),
                     all[i].probability, json, out);
    }
    sr_free(all);
    return SR_OK;
}

SrStatus sr_image_classifier_apply(SrCheckpointModel *m, const char *data, const char *file,
                                   bool by_doubt, bool json, SrText *out) {
    char path[4096], layer[64];
    SrMatrix f = {0};
    SrStages layers;
    SrStringList files = {0}, names = {0};
    Linear l = {0};
    SrStatus status;
    SR_TRY(file_name(m, file, path));
    SR_TRY_GOTO(load(m, path, &l, layer, &names));
    SR_TRY_GOTO(sr_checkpoint_model_features(m, data, NULL, &layers, &f, &files));
    SR_TRY_GOTO(decide_all(&l, &layers, layer, &f, &files, &names, by_doubt, json, out));
done:
    sr_matrix_deinit(&f);
    sr__string_list_deinit(&files);
    sr__string_list_deinit(&names);
    linear_deinit(&l);
    return status;
}
