// Feeds arbitrary bytes to the path of an image, from its file to its row in a batch
// (image_fuzz.h). make fuzz-image links this file with data/ only; the tests run it over the
// corpus.
#include "tests/fuzz/image_fuzz.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "data/collator.h"
#include "data/decode.h"
#include "data/extras.h"
#include "data/image_pool.h"
#include "data/load/loader.h"
#include "data/pipeline.h"
#include "data/transform.h"

// Larger images are slow to try.
enum { MAX_PIXELS = 1 << 16, MAX_SIDE = 1024, DIRT_BYTES = 1 << 16 };

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "%s: %s\n", what, sr_status_message());
    abort();
}

// One way to run an input: with these random draws, and with PIL's arithmetic or the fast one.
typedef struct {
    uint64_t seed;
    bool fast;
    int number;
} Way;
enum { WAYS = 8 };
static Way way_of(int number) { return (Way){(uint64_t)number >> 1, number & 1, number}; }

// ---- lists of transforms ----

// Lists whose output size is fixed for square files only, lists with a fixed size, and lists with
// several views.
static const char *const lists[] = {
    "[{name: Resize, size: 20}, {name: ToTensor}, {name: Normalize}]",
    "[{name: Resize, size: 20}, {name: ToTensor}]",
    "[{name: Resize, size: 24}, {name: CenterCrop, size: 20}, {name: ToTensor}, {name: Normalize}]",
    "[{name: CenterCrop, size: 31}, {name: ToTensor}, {name: Normalize}]",
    "[{name: RandomResizedCrop, size: 17}, {name: RandomHorizontalFlip}, {name: ToTensor}, {name: "
    "Normalize}]",
    "[{name: Resize, size: 9}, {name: ImgReplicatePil, num_times: 2}, {name: ToTensor}, {name: "
    "Normalize}]",
    "[{name: ImgPilToMultiCrop, total_num_crops: 3, num_crops: [1, 2], size_crops: [18, 7],"
    " crop_scales: [[0.3, 1], [0.1, 0.3]]}, {name: ToTensor}, {name: Normalize}]"};

typedef struct {
    SrPipeline *pipeline;
    SrCollation collation; // one input per view
    float *neighbour;      // first view of the good image, for each way
    size_t view_bytes;
} List;

enum { MAX_LISTS = 160 };
static List list[MAX_LISTS];
static int n_lists;

// Adds a list of transforms. Returns false if files would decide the sizes of its views.
static bool list_add(const char *text) {
    List *l = &list[n_lists];
    SrArena arena = SR_ARENA_INIT;
    SrYaml *yaml;
    SrBatchPlan *plan = &l->collation.plan;
    require(n_lists < MAX_LISTS, "too many lists");
    require(sr_yaml_parse(&arena, text, strlen(text), "fuzz", &yaml) == SR_OK, text);
    require(sr_pipeline_new(yaml, "fuzz", &l->pipeline) == SR_OK, text);
    sr_arena_deinit(&arena);
    if (sr_pipeline_shape(l->pipeline, &plan->n_views, plan->h, plan->w) != SR_OK ||
        sr_pipeline_extras(l->pipeline, &plan->made) != SR_OK) {
        sr_pipeline_free(l->pipeline);
        memset(l, 0, sizeof *l);
        return false;
    }
    require(sr_batch_plan_list(plan, "data") == SR_OK, text);
    for (int i = 0; i < plan->made.n; i++)
        require(sr_batch_plan_take(plan, i) == SR_OK, text);
    l->view_bytes = sizeof(float) * 3 * (size_t)plan->h[0] * (size_t)plan->w[0];
    n_lists++;
    return true;
}

// Adds a list with one transform and the keys of its example, after a Resize that keeps the
// aspect ratio of files if possible.
static void list_transform(const SrTransform *t) {
    static const char *const sizes[] = {"20", "[20, 26]", "[250, 240]"};
    const char *before = t->stands_on      ? t->stands_on
                         : t->takes_floats ? "{name: ToTensor}"
                                           : "{name: ImgReplicatePil}";
    bool floats = t->takes_floats || t->gives_floats;
    char text[1024];
    for (int i = 0; i < SR_COUNT(sizes); i++) {
        snprintf(text, sizeof text, "[{name: Resize, size: %s}%s%s, {name: %s%s%s}%s%s]", sizes[i],
                 *before ? ", " : "", before, t->name, t->example ? ", " : "",
                 t->example ? t->example : "", floats ? "" : ", {name: ToTensor}",
                 t->normalizes || t->takes_floats ? "" : ", {name: Normalize}");
        if (list_add(text))
            return;
    }
    require(false, text);
}

static void lists_make(void) {
    if (n_lists)
        return;
    for (int i = 0; i < SR_COUNT(lists); i++)
        require(list_add(lists[i]), lists[i]);
    for (int i = 0; sr_transform_at(i); i++)
        list_transform(sr_transform_at(i));
}

// ---- decoding and transforms ----

static SrImagePool *dirty_pool(int dirt) {
    SrImagePool *pool;
    require(sr_image_pool_new(&pool) == SR_OK, "a pool");
    void *old = sr_image_pool_take(pool, DIRT_BYTES);
    require(old != NULL, "a pool");
    memset(old, dirt, DIRT_BYTES);
    sr_image_pool_reset(pool);
    return pool;
}

static bool is_small(const SrImage *image) {
    return image->H <= MAX_SIDE && image->W <= MAX_SIDE && image->H * image->W <= MAX_PIXELS;
}

// Results of one run, in memory of exactly the announced sizes, so that a sanitizer sees a write
// past them.
typedef struct {
    SrViews views;
    void *extra[SR_MAX_EXTRAS];
    SrStatus status;
} Made;

static void *filled(size_t bytes, int with) {
    void *p = malloc(bytes);
    require(p != NULL, "out of memory");
    return memset(p, with, bytes);
}

static void make(const List *l, const SrTransformContext *how, const uint8_t *data, size_t bytes,
                 int dirt, Made *out) {
    const SrBatchPlan *plan = &l->collation.plan;
    SrTransformContext ctx = *how;
    int64_t label = 0;
    *out = (Made){.views = {.n = 1}};
    ctx.pool = dirty_pool(dirt);
    ctx.label = &label;
    ctx.extras = &plan->made;
    ctx.extra = out->extra;
    for (int v = 0; v < plan->n_views; v++) {
        out->views.h[v] = plan->h[v];
        out->views.w[v] = plan->w[v];
        out->views.out[v] =
            filled(sizeof(float) * 3 * (size_t)plan->h[v] * (size_t)plan->w[v], dirt);
    }
    for (int i = 0; i < plan->made.n; i++)
        out->extra[i] = filled(sr_batch_extra_bytes(&plan->made.v[i]), 0);
    out->status = sr_image_open(data, bytes, &out->views.view[0]);
    if (out->status == SR_OK)
        out->status = sr_pipeline_apply(l->pipeline, &ctx, &out->views);
    // The image lives as long as the pool.
    for (int v = 0; out->status == SR_OK && v < out->views.n; v++) {
        SrImage *image = &out->views.view[v];
        size_t size = sizeof(float) * 3 * (size_t)image->H * (size_t)image->W;
        require(image->f != NULL, "a view without floats");
        float *kept = malloc(size);
        require(kept != NULL, "out of memory");
        image->f = memcpy(kept, image->f, size);
    }
    sr_image_pool_free(ctx.pool);
}

static void made_free(const List *l, Made *m) {
    for (int v = 0; m->status == SR_OK && v < m->views.n; v++)
        free(m->views.view[v].f);
    for (int v = 0; v < l->collation.plan.n_views; v++)
        free(m->views.out[v]);
    for (int i = 0; i < l->collation.plan.made.n; i++)
        free(m->extra[i]);
}

static void compare(const Made *a, const Made *b) {
    require(a->status == b->status, "old memory decides whether an image is good");
    require(a->status == SR_OK || a->status == SR_ERR_IO || a->status == SR_ERR_CONFIG,
            "a bad refusal");
    require(a->status != SR_OK || a->views.n == b->views.n, "views");
    for (int v = 0; a->status == SR_OK && v < a->views.n; v++) {
        const SrImage *x = &a->views.view[v], *y = &b->views.view[v];
        int64_t n = (int64_t)3 * x->H * x->W;
        require(x->H == y->H && x->W == y->W, "old memory changes a size");
        for (int64_t i = 0; i < n; i++)
            require(isfinite(x->f[i]), "a pixel that is not finite");
        require(memcmp(x->f, y->f, sizeof(float) * (size_t)n) == 0, "old memory changes a pixel");
    }
}

// Decodes at a fraction of the size, as transforms may request: content of old memory must not
// matter.
static void check_reduced(const uint8_t *data, size_t bytes, int reduce) {
    SrImage image[2];
    SrStatus status[2];
    SrImagePool *pool[2];
    for (int i = 0; i < 2; i++) {
        pool[i] = dirty_pool(i ? 0xEE : 0);
        status[i] = sr_image_open(data, bytes, &image[i]);
        if (status[i] == SR_OK)
            status[i] = sr_image_finish(&image[i], reduce, pool[i]);
    }
    require(status[0] == status[1] && (status[0] == SR_OK || status[0] == SR_ERR_IO), "decoding");
    require(status[0] != SR_OK || memcmp(image[0].rgb, image[1].rgb,
                                         (size_t)image[0].H * (size_t)image[0].W * 3) == 0,
            "old memory changes a decoded pixel");
    for (int i = 0; i < 2; i++)
        sr_image_pool_free(pool[i]);
}

// ---- the loader ----

enum { GOOD = 0, INPUT = 1, ITEMS = 2, GRAY = 20 };

typedef struct {
    const uint8_t *data;
    size_t bytes;
} Set;

static int64_t set_length(const void *set) {
    (void)set;
    return ITEMS;
}
static int64_t set_label(const void *set, int64_t i) {
    (void)set;
    return i;
}
static int set_classes(const void *set) {
    (void)set;
    return ITEMS;
}
static SrStatus set_read(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    const Set *set = opened;
    *out = (SrSample){.path = "some.jpg"};
    if (i == INPUT) {
        out->encoded = set->data;
        out->encoded_bytes = set->bytes;
        return SR_OK;
    }
    SR_TRY(sr_image_new(pool, GRAY, GRAY, &out->image));
    for (int k = 0; k < GRAY * GRAY * 3; k++)
        out->image.rgb[k] = (uint8_t)(k * 7);
    return SR_OK;
}
static const SrDataset dataset = {.name = "fuzz",
                                  .length = set_length,
                                  .label = set_label,
                                  .classes = set_classes,
                                  .read = set_read};

// Loads a batch of a good image and an input, and copies the good image's first view to `row`.
// good: whether the transforms accept the input.
static SrStatus load(const List *l, const Set *set, Way way, bool good, float *row) {
    SrLoaderConfig config = {.dataset = &dataset,
                             .set = (void *)(uintptr_t)set,
                             .limit = -1,
                             .pipeline = l->pipeline,
                             .collation = &l->collation,
                             .batch = ITEMS,
                             .label_type = "standard",
                             .prefetch = 1,
                             .gray_size = GRAY,
                             .unlabel_bad = true,
                             .max_bad_share = 1,
                             .seed = way.seed,
                             .fast = way.fast};
    SrLoader *loader;
    const SrBatch *batch = NULL;
    require(sr_loader_new(&config, &loader) == SR_OK, "a loader");
    require(sr_loader_start(loader, 0, 0) == SR_OK, "an epoch");
    SrStatus status = sr_loader_next(loader, &batch, NULL);
    if (status == SR_OK) {
        require(batch && batch->batch == ITEMS && batch->index[INPUT] == INPUT, "the batch");
        require((batch->valid[INPUT] > 0) == good && batch->valid[GOOD] > 0, "valid");
        memcpy(row, batch->view[0], l->view_bytes);
    }
    sr_loader_free(loader);
    return status;
}

// Returns the good image's row in a batch with bytes that are no image, whose own row is grey.
static const float *neighbour_of(List *l, Way way) {
    static const uint8_t none[] = "no image";
    Set set = {none, sizeof none};
    size_t floats = l->view_bytes / sizeof(float);
    if (!l->neighbour) {
        l->neighbour = filled(WAYS * l->view_bytes, 0);
        for (int i = 0; i < WAYS; i++)
            require(load(l, &set, way_of(i), false, l->neighbour + (size_t)i * floats) == SR_OK,
                    "a grey image");
    }
    return l->neighbour + (size_t)way.number * floats;
}

static void check_loader(List *l, const uint8_t *data, size_t bytes, Way way, SrStatus alone) {
    Set set = {data, bytes};
    float *row = filled(l->view_bytes, 0);
    SrStatus status = load(l, &set, way, alone == SR_OK, row);
    require(status == SR_OK || (status == SR_ERR_CONFIG && alone != SR_ERR_IO),
            "a batch is refused");
    require(status != SR_OK || memcmp(row, neighbour_of(l, way), l->view_bytes) == 0,
            "an image changes the one before it");
    free(row);
}

int fuzz_image(const uint8_t *data, size_t bytes) {
    SrImage opened;
    if (bytes < 2)
        return 0;
    lists_make();
    List *l = &list[data[0] % n_lists];
    Way way = way_of(data[1] % WAYS);
    int reduce = 1 << (data[1] / WAYS % 4);
    int64_t before = sr_mem_bytes();
    data += 2;
    bytes -= 2;
    if (sr_image_open(data, bytes, &opened) == SR_OK && !is_small(&opened))
        return 0;
    SrTransformContext ctx = {.seed = way.seed, .sample = INPUT, .fast = way.fast};
    Made made[2];
    check_reduced(data, bytes, reduce);
    for (int i = 0; i < 2; i++)
        make(l, &ctx, data, bytes, i ? 0xEE : 0, &made[i]);
    compare(&made[0], &made[1]);
    check_loader(l, data, bytes, way, made[0].status);
    for (int i = 0; i < 2; i++)
        made_free(l, &made[i]);
    require(sr_mem_bytes() == before, "memory is left over");
    return 0;
}

#ifdef SR_FUZZ_ENTRY
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) { return fuzz_image(data, bytes); }
#endif
