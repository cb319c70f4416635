// Exchange between the tensors of a golden case and a parameter table: loads "param.<name>",
// compares "grad.<name>" and "after.<name>".
#ifndef SR_TESTS_GOLDEN_TABLE_H
#define SR_TESTS_GOLDEN_TABLE_H

#include "graph/ir/params.h"
#include "tests/golden/golden.h"

// Tolerances relative to the largest reference value: for outputs of nodes, and for gradients.
#define GOLDEN_TAP 2e-4
#define GOLDEN_GRAD 1e-4

// Copies every tensor whose name starts with `kind` ("param.") to the entry `prefix` ("heads.0.")
// + rest of the name. With `whole` true, entries and tensors must match one to one.
SrStatus golden_load_table(SrGoldenCase *c, SrParams *params, const char *kind, const char *prefix,
                           bool whole);
// Compare gradients ("grad.") or values ("after.") with the case. A trainable entry without a
// reference gradient is accepted. A reference gradient without a trainable entry fails, and so
// does a case without any gradient. A case may have no values, since a head without batch norm
// has no running statistics.
SrStatus golden_compare_grads(SrGoldenCase *c, SrParams *params, const char *kind,
                              const char *prefix, double relative);
SrStatus golden_compare_values(SrGoldenCase *c, SrParams *params, const char *kind,
                               const char *prefix, double relative);

#endif
