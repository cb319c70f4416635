/* Features of two layers of a ResNet-50 for a batch of two images.
 *
 *   cc features.c $(pkg-config --cflags --libs sslrun) -o features
 *   ./features [WEIGHTS.safetensors] */
#include <sslrun.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, SIZE = 64 };

static int fail(void) {
    fprintf(stderr, "%s\n", sr_status_message());
    return 1;
}

int main(int argc, char **argv) {
    SrFeatureModel *model;
    SrFeatureShape shape;
    if (sr_feature_model_open("resnet50", BATCH, SIZE, SIZE, &model) != 0)
        return fail();
    int nodes = 0;
    while (sr_feature_model_node(model, nodes, &shape))
        nodes++;
    printf("%d nodes, the last is %s\n", nodes, shape.name);

    if (sr_feature_model_tap(model, "layer1,avgpool:embedding", argc > 1 ? argv[1] : NULL, 0) != 0)
        return fail();
    float *x = malloc(sizeof *x * BATCH * 3 * SIZE * SIZE); /* (N, 3, H, W) */
    for (int i = 0; x && i < BATCH * 3 * SIZE * SIZE; i++)
        x[i] = (float)(i % 17) / 8.5f - 1;
    if (!x || sr_feature_model_run(model, x) != 0)
        return fail();
    for (int i = 0; sr_feature_model_output(model, i, &shape); i++) {
        const float *y = sr_feature_model_output(model, i, &shape);
        printf("%s [%d, %d, %d, %d] %.3f ...\n", shape.name, shape.shape[0], shape.shape[1],
               shape.shape[2], shape.shape[3], y[0]);
    }
    free(x);
    sr_feature_model_close(model);
    return 0;
}
