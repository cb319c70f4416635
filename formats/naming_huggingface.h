// Reads and writes the names that Hugging Face's transformers give to trunks: DINOv3 (transformer
// and ConvNeXt), DINOv2, ViT, the vision towers of CLIP and SigLIP, ConvNeXt and ResNet.
//
// A file is read by renaming its tensors to the words that formats/names/naming.h knows, under the
// prefix SR_HUGGINGFACE.  Queries, keys and values are separate tensors there and are joined.
// Tensors of other parts (classifiers, text towers) keep their names.
#ifndef SR_FORMATS_NAMING_HUGGINGFACE_H
#define SR_FORMATS_NAMING_HUGGINGFACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "formats/weights/weights_table.h"

#define SR_HUGGINGFACE "huggingface."

typedef struct SrHuggingface SrHuggingface;

// Finds the family whose names are in the file; prefix (bytes long) gets the text before them.
// NULL: none.
const SrHuggingface *sr_huggingface_find(const SrWeights *w, char *prefix, size_t bytes);
// Finds a family by its name and variant: transformers with gated branches, ConvNeXt as trained on
// ImageNet (without: DINOv3's).  NULL: Hugging Face has no names for it.
const SrHuggingface *sr_huggingface_of(const char *family, bool variant);
const char *sr_huggingface_family(const SrHuggingface *family); // "dinov3"

// Renames and joins the tensors of the family's trunk.  SR_ERR_CONFIG: queries, keys and values do
// not belong together; the message names the tensor.
SrStatus sr_huggingface_read(SrWeights *w, const SrHuggingface *family, const char *prefix);
// Splits the tensors `<prefix>blocks.<i>.attn.qkv.` into queries, keys and values, and joins those
// of SigLIP's pooling.
SrStatus sr_huggingface_split(SrWeights *w, const SrHuggingface *family, const char *prefix);
// Writes the family's name of a tensor, given in the words of sr_huggingface_read without the
// prefix.  False: it has none.
bool sr_huggingface_name(const SrHuggingface *family, const char *bare, char *out, size_t bytes);
// Returns the shape that the family gives to such a tensor of shape s.
SrShape sr_huggingface_shape(const SrHuggingface *family, const char *bare, SrShape s);

#endif
