// Converts one file of weights into another and renames the tensors: the work of `sslrun convert`.
#ifndef SR_FORMATS_CONVERT_H
#define SR_FORMATS_CONVERT_H

#include "formats/names/naming.h"
#include "formats/weights/save.h"

typedef struct {
    bool rename;   // rename tensors to `names`; false: every tensor keeps its name
    SrNames names; // target of the renaming
    // With `rename` and SR_NAMES_VISSL, whose words for transformers and ConvNeXt are the authors':
    // plain writes them without VISSL's dicts, huggingface turns them into Hugging Face's.
    bool plain, huggingface;
    bool only_trunk; // write the trunk alone, without its classifier
} SrConvertOptions;

typedef struct {
    SrNaming naming;       // names that the input had
    int tensors, left_out; // number of tensors written, and not written
    bool blank_classifier; // fc.* was added with zeros
} SrConvertResult;

// Converts `in` to `out`, which is replaced atomically.
// SR_ERR_CONFIG: sr_weights_open or sr_save refuses a file, or the input holds no trunk to rename.
//
// torchvision's ResNets load with strict=True and need a classifier.  A file without one gets
// VISSL's linear head (heads.0.clf.0) as classifier, else a classifier of 1000 classes filled with
// zeros; only_trunk writes none.  VISSL's layout nests tensors as its loader expects:
// classy_state_dict/base_model/model/{trunk,heads}.
SrStatus sr_convert(const char *in, const char *out, const SrConvertOptions *options,
                    SrConvertResult *result);

#endif
