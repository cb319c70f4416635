// Files of weights that a test builds byte by byte, one at a time in a temporary folder.
#ifndef SR_TESTS_FORMATS_HAND_FILE_H
#define SR_TESTS_FORMATS_HAND_FILE_H

#include <stdint.h>

#include "base/text/text.h"
#include "formats/weights/weights.h"

extern char hand_file_path[128];

// Make the folder and remove it: cmocka's set_up and tear_down.
int hand_file_begin(void **state);
int hand_file_end(void **state);

// Adds a number of so many bytes, the lowest first.
void hand_file_number(SrText *out, uint64_t v, int bytes);
void hand_file_write(SrText *text); // writes the file and empties the text
// Fails the test unless the file is refused, when it is opened or when its tensors are read, with a
// message that contains `message` and names the file.
void hand_file_refuse(const char *message);
// Returns number i of a tensor.
double hand_file_element(SrWeights *w, const char *name, int64_t i);

#endif
