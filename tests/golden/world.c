// Collects tensors of several replicas in golden cases (world.h).
#include "tests/golden/world.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/golden/images.h"

enum { most = 64 };

int golden_world(const SrGoldenCase *c) {
    double size;
    char name[32];
    int n = 0;
    if (golden_value(c, "world_size", &size) && size >= 1 && size <= most)
        return (int)size;
    do
        snprintf(name, sizeof name, "r%d.loss0", n);
    while (sr_safetensors_find(c->tensors, name) && n++ < most);
    return SR_MAX(n, 1);
}

void golden_world_move(int world, float *all, float *own, int replica, int blocks, int64_t floats,
                       bool in) {
    size_t block = (size_t)(floats / blocks);
    for (int k = 0; k < blocks; k++) {
        float *a = all + ((size_t)k * (size_t)world + (size_t)replica) * block,
              *b = own + (size_t)k * block;
        memcpy(in ? a : b, in ? b : a, block * sizeof *a);
    }
}

const char *golden_replica_name(SrGoldenCase *c, int replica, const char *what, int step) {
    const char *name = sr_arena_printf(c->arena, "r%d.%s%d", replica, what, step);
    return name ? name : "";
}

SrStatus golden_world_loss(SrGoldenCase *c, int step, double *out) {
    int world = golden_world(c);
    *out = 0;
    for (int r = 0; r < world; r++) {
        int64_t n;
        const char *name = golden_replica_name(c, r, "loss", step);
        const float *loss = golden_floats(c, name, &n);
        if (!loss)
            SR_FAIL(SR_ERR_RUN, "%s: no %s", c->name, name);
        *out += (double)loss[0] / world;
    }
    return SR_OK;
}
