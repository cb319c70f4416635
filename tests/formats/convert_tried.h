// Conversions of weights that are first tried where they can fail.
#ifndef SR_TESTS_FORMATS_CONVERT_TRIED_H
#define SR_TESTS_FORMATS_CONVERT_TRIED_H

#include "formats/convert.h"

// Converts as sr_convert does. Before that, it tries the same conversion into another file of the
// same folder: with each allocation failing, with a disk that is full after a part of the file, and
// of odd copies of `in`, in which one tensor is left out, has another name, shape or type. Fails
// the test if such a conversion ends otherwise than it may, leaves a file or a block of memory.
SrStatus convert_tried(const char *in, const char *out, const SrConvertOptions *options,
                       SrConvertResult *result);

#endif
