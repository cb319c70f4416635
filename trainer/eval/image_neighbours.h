// Lists of files from a trained trunk's features, by cosine: the images most like one, and groups of images alike.
#ifndef SR_TRAINER_EVAL_IMAGE_NEIGHBOURS_H
#define SR_TRAINER_EVAL_IMAGE_NEIGHBOURS_H

#include "base/text.h"
#include "trainer/eval/checkpoint_model.h"

// Forms of a list of files.
typedef enum {
    SR_FILES_TEXT, // "0.9731  path" a line
    SR_FILES_JSON, // a JSON object a line
    SR_FILES_NULL, // the path alone and a NUL, for `xargs -0`
} SrFilesForm;

// The `count` files at `data` whose feature is nearest to that of the file `image`, nearest first; `image` itself is left
// out where it is among them.  layer: NULL, the trunk's vector.  Added to out.
SrStatus sr_similar(SrCheckpointModel *m, const char *image, const char *data, const char *layer,
                    int count, SrFilesForm form, SrText *out);

// Groups of files at `data` that are linked by a cosine of `threshold` or more, larger groups first.  A blank line
// between groups, each line with the cosine to the group's first; or one JSON object a group; or an empty name after
// each group.
SrStatus sr_duplicates(SrCheckpointModel *m, const char *data, const char *layer, double threshold,
                       SrFilesForm form, SrText *out);

#endif
