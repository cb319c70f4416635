/* The images most like the first one, by the features of a trained trunk.
 *
 *   cc neighbours.c $(pkg-config --cflags --libs sslrun) -o neighbours
 *   ./neighbours RUN QUERY.jpg IMAGE.jpg ...        RUN: a run's folder or a checkpoint of `sslrun train` */
#include <sslrun.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 8 };

static void *read_file(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    long length = -1;
    void *data = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) > 0)
        data = malloc((size_t)length);
    if (data) {
        rewind(file);
        *bytes = fread(data, 1, (size_t)length, file);
    }
    if (file)
        fclose(file);
    return data;
}

/* x: (n, 3, height, width) */
static int preprocess(SrFeatureModel *model, char **paths, int n, float *x, size_t image) {
    for (int i = 0; i < n; i++) {
        size_t bytes = 0;
        void *data = read_file(paths[i], &bytes);
        int status = sr_feature_model_preprocess(model, data ? data : "", bytes, x + i * image);
        free(data);
        if (status != 0) {
            fprintf(stderr, "%s: %s\n", paths[i], sr_status_message());
            return status;
        }
    }
    return 0;
}

/* f: (n, d); row 0 asks, the others answer. */
static int print_neighbours(const float *f, int n, int d, char **paths) {
    SrKnnIndex *index;
    int64_t *row = malloc(sizeof *row * (size_t)n);
    float *cosine = malloc(sizeof *cosine * (size_t)n);
    int status = sr_knn_index_open(f + d, n - 1, d, 1, &index);
    if (status == 0 && row && cosine)
        status = sr_knn_index_search(index, f, 1, n - 1, row, cosine);
    for (int i = 0; status == 0 && row && cosine && i < n - 1; i++)
        printf("%.4f  %s\n", cosine[i], paths[1 + row[i]]);
    sr_knn_index_close(index);
    free(row);
    free(cosine);
    return status;
}

static int compare(SrFeatureModel *model, char **paths, int n) {
    int batch, height, width;
    SrFeatureShape shape;
    if (sr_feature_model_tap(model, "flatten", NULL, 0) != 0)
        return 1;
    sr_feature_model_size(model, &batch, &height, &width);
    sr_feature_model_output(model, 0, &shape); /* (batch, d) */
    size_t image = 3 * (size_t)height * (size_t)width;
    float *x = malloc(sizeof *x * (size_t)n * image);
    float *f = malloc(sizeof *f * (size_t)n * (size_t)shape.shape[1]);
    int status = x && f ? preprocess(model, paths, n, x, image) : 1;
    if (status == 0)
        status = sr_feature_model_features(model, x, n, &f);
    if (status == 0)
        status = print_neighbours(f, n, shape.shape[1], paths);
    free(x);
    free(f);
    return status;
}

int main(int argc, char **argv) {
    SrFeatureModel *model;
    if (argc < 4) {
        fprintf(stderr, "usage: neighbours RUN QUERY IMAGE...\n");
        return 2;
    }
    int status = sr_feature_model_open(argv[1], BATCH, 0, 0, &model);
    if (status == 0)
        status = compare(model, argv + 2, argc - 2);
    if (status != 0)
        fprintf(stderr, "%s\n", sr_status_message());
    sr_feature_model_close(model);
    return status != 0;
}
