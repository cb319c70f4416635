// The collators of VISSL whose result is SrBatch's memory read in another way: nothing is copied.
#include "data/data.h"

// Called once, before data is opened: a batch that passed here always fits.
SrStatus sr_collator_check(const SrCollator *collator, int n, const int h[64], const int w[64]) {
    if (collator->views_needed && collator->views_needed != n)
        SR_FAIL(SR_ERR_CONFIG,
                "COLLATE_FUNCTION %s needs %d view%s an image, the transforms make %d",
                collator->name, collator->views_needed, collator->views_needed == 1 ? "" : "s", n);
    for (int v = 1; v < n && collator->concatenated; v++)
        if (h[v] != h[0] || w[v] != w[0])
            SR_FAIL(SR_ERR_CONFIG,
                    "COLLATE_FUNCTION %s puts all views into one tensor, but view %d is %d x %d "
                    "and view 0 is %d x "
                    "%d; multicrop_collator takes several sizes",
                    collator->name, v, h[v], w[v], h[0], w[0]);
    return SR_OK;
}

// Crop-major: all images of view 0, then all of view 1.  The caller's `out` has room for V * N.
int sr_collator_repeat(const SrCollator *collator, int n_views, int batch, const int64_t *in,
                       int64_t *out) {
    int n = collator->repeated ? n_views * batch : batch;
    for (int i = 0; i < n; i++)
        out[i] = in[i % batch];
    return n;
}

// VISSL's others move pixels or blend images (mixup) or order by sample (siamese); they are not
// offered.
const SrCollator sr_collator_default_collate = {
    .name = "default_collate",
    .help = "One view an image, stacked.",
    .views_needed = 1,
    .concatenated = true,
};
const SrCollator sr_collator_simclr_collator = {
    .name = "simclr_collator",
    .help = "All images' first views, then all second views and so on, in one tensor; labels "
            "repeated alike.",
    .concatenated = true,
    .repeated = true,
};
const SrCollator sr_collator_multicrop_collator = {
    .name = "multicrop_collator",
    .help = "A list of tensors, one a view, each with that view of all images; labels repeated "
            "view by view.",
    .repeated = true,
};
