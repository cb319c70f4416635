// The list of transforms, and what they share: reports of draws, extras, sizes of views.
#include "data/transform.h"

#include <stdarg.h>

#include "base/plugin/plugin.h"
#include "base/text/number.h"
#include "gen/transform.def"

SR_REGISTRY(SrTransform, transform, transform, "transform")

void sr__tell(const SrTransformContext *ctx, int v, const char *fmt, ...) {
    char line[128];
    va_list args;
    if (!ctx->told)
        return;
    va_start(args, fmt);
    sr_number_vprint(line, sizeof line, fmt, args);
    va_end(args);
    sr_text_add(&ctx->told[v], ctx->told[v].len ? "; " : "");
    sr_text_add(&ctx->told[v], line);
}

void *sr_transform_extra(const SrTransformContext *ctx, const char *name, int view) {
    int i = ctx->extras ? sr_extras_find(ctx->extras, name, view) : -1;
    return i < 0 ? NULL : ctx->extra[i];
}

// Sizes that assume square files are checked here: the configuration cannot know the files.
SrStatus sr__view_fits(const SrViews *views, int v) {
    const SrImage *image = &views->view[v];
    if (image->H == views->h[v] && image->W == views->w[v])
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "the transforms make a view of %d x %d of the image, expected %d x %d; for images that "
            "are not square, TRANSFORMS need CenterCrop or Resize with [height, width]",
            image->H, image->W, views->h[v], views->w[v]);
}
