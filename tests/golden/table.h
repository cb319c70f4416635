// Between a case's tensors and a parameter table: "param.<name>" in, "grad.<name>" and
// "after.<name>" compared.
#ifndef SR_TESTS_GOLDEN_TABLE_H
#define SR_TESTS_GOLDEN_TABLE_H

#include "graph/params.h"
#include "tests/golden/golden.h"

// Tolerances of the project: relative to the largest reference value.
#define GOLDEN_TAP 2e-4
#define GOLDEN_GRAD 1e-4

// Every tensor whose name starts with `kind` ("param.") goes to the entry with the rest of its
// name, after `prefix`
// ("heads.0.") is put before it.  Entries and tensors must cover each other where `whole` is true.
SrStatus golden_load_table(SrGoldenCase *c, SrParams *params, const char *kind, const char *prefix,
                           bool whole);
// The gradients ("grad.") or the values ("after.") against the case, in both directions: a
// trainable entry without a reference gradient is fine, a reference gradient without a trainable
// entry is not, and neither is a case without any gradient.  Values there need not be: a head without
// batch norm leaves none behind.
SrStatus golden_compare_grads(SrGoldenCase *c, SrParams *params, const char *kind,
                              const char *prefix, double relative);
SrStatus golden_compare_values(SrGoldenCase *c, SrParams *params, const char *kind,
                               const char *prefix, double relative);

#endif
