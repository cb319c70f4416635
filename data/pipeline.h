// The transforms of one split as a chain, read from TRANSFORMS: [{name: ..., keys...}, ...].  A
// pipeline is only read after it is made: threads may share it, each with its own context and pool.
#ifndef SR_DATA_PIPELINE_H
#define SR_DATA_PIPELINE_H

#include "base/problems.h"
#include "data/transform.h"

// Makes a pipeline for images of RGB of 8 bits.  where: path of the list for messages.
SrStatus sr_pipeline_new(const SrYaml *transforms, const char *where, SrPipeline **out);
// Makes a pipeline for images of this form.
// SR_ERR_CONFIG: a transform works on RGB of 8 bits only.
SrStatus sr_pipeline_new_for(const SrYaml *transforms, const char *where, SrPixelForm form,
                             SrPipeline **out);
SrPixelForm sr_pipeline_form(const SrPipeline *pipeline);
// Mean of channel c that the pipeline's Normalize subtracts.  0.5: there is no Normalize.
double sr_pipeline_mean(const SrPipeline *pipeline, int c);
void sr_pipeline_free(SrPipeline *pipeline);
// Logs a line for each option of the transforms that is set and changes nothing.  SR_ERR_CONFIG:
// such an option is refused.  An unreadable list gives SR_OK here; sr_pipeline_new reports it.
SrStatus sr_pipeline_report_ignored(const SrYaml *transforms, const char *where, SrArena *arena);
// Adds every wrong key of the transforms to `problems`.  Entries that are no transform or have an
// unknown name are passed over; sr_pipeline_new reports them.
SrStatus sr_pipeline_check(const SrYaml *transforms, const char *where, SrPixelForm form,
                           SrArena *arena, SrProblems *problems);
// Gives number and sizes of the outgoing views.  If only square files give one size, the files are
// assumed to be square.  SR_ERR_CONFIG: a size stays open, or ToTensor is missing.
SrStatus sr_pipeline_shape(const SrPipeline *pipeline, int *n, int h[SR_MAX_VIEWS],
                           int w[SR_MAX_VIEWS]);
// Gives the extras that the transforms make for an image, by view.
SrStatus sr_pipeline_extras(const SrPipeline *pipeline, SrExtras *out);
// Number of classes of the labels that the transforms make.  0: the source's labels stay.
int sr_pipeline_classes(const SrPipeline *pipeline);
// Number of columns that the transforms make of a label.  0: labels stay as they are.
int sr_pipeline_targets(const SrPipeline *pipeline);
// True if every transform is fixed: views depend on the image alone, and a caller may keep them.
bool sr_pipeline_is_fixed(const SrPipeline *pipeline);
SrStatus sr_pipeline_apply(const SrPipeline *pipeline, const SrTransformContext *ctx,
                           SrViews *views);

// ---- for the transforms that hold others
// Makes a pipeline inside the transform at `stage`; its memory is the outer pipeline's arena.
SrStatus sr__pipeline_nested(const SrYaml *list, const char *where, uint32_t stage, SrArena *arena,
                             SrPipeline **out);
// Turns number and sizes of given views into those after the pipeline.  Unlike sr_pipeline_shape it
// accepts open sizes (0 x 0) and pipelines without ToTensor.
SrStatus sr__pipeline_walk_shape(const SrPipeline *pipeline, int *n, int h[SR_MAX_VIEWS],
                                 int w[SR_MAX_VIEWS]);

#endif
