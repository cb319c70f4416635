// What `sslrun convert` does: one weights file into another, renamed tensor by tensor.
#ifndef SR_FORMATS_CONVERT_H
#define SR_FORMATS_CONVERT_H

#include "formats/naming.h"
#include "formats/save.h"

typedef struct {
    bool rename; // to `names`; else every tensor keeps its name
    SrNames names;
    bool only_trunk; // nothing but the trunk, without its classifier
} SrConvertOptions;

typedef struct {
    SrNaming naming;
    int tensors, left_out; // written, not written
    bool blank_classifier; // fc.* of zeros were added
} SrConvertResult;

// SR_ERR_CONFIG: what sr_weights_open and sr_save refuse; no trunk to rename.  out is replaced.
//
// torchvision's ResNets load with strict=True: where the file has no classifier and only_trunk is
// off, VISSL's linear head (heads.0.clf.0) becomes it, or one of 1000 zeros a feature.  VISSL's
// layout is what its loader expects of a checkpoint:
// classy_state_dict/base_model/model/{trunk,heads}.
SrStatus sr_convert(const char *in, const char *out, const SrConvertOptions *options,
                    SrConvertResult *result);

#endif
