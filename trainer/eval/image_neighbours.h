// Lists files by the cosine of a trained trunk's features: the images most like one, and groups of
// images that are alike.
#ifndef SR_TRAINER_EVAL_IMAGE_NEIGHBOURS_H
#define SR_TRAINER_EVAL_IMAGE_NEIGHBOURS_H

#include "base/text/text.h"
#include "trainer/eval/checkpoint_model.h"

// Forms of a list of files.
typedef enum {
    SR_FILES_TEXT, // "0.9731  path" a line
    SR_FILES_JSON, // a JSON object a line
    SR_FILES_NULL, // the path alone and a NUL, for `xargs -0`
} SrFilesForm;

// Appends the `count` files at `data` whose features are nearest to that of the file `image`, the
// nearest first, without `image` itself.  layer NULL: the trunk's vector.
SrStatus sr_similar(SrCheckpointModel *m, const char *image, const char *data, const char *layer,
                    int count, SrFilesForm form, SrText *out);

// Appends groups of files at `data` that are linked by a cosine of `threshold` or more, larger
// groups first.  Text has a blank line between groups, and each line has the cosine to the group's
// first file.  JSON has one object per group.  The NULL form has an empty name after each group.
SrStatus sr_duplicates(SrCheckpointModel *m, const char *data, const char *layer, double threshold,
                       SrFilesForm form, SrText *out);

#endif
