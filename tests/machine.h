// The machine that kernel tests compute with: a copy of the default one, which a test may change.
// Every test starts with a fresh copy.
#ifndef SR_TESTS_MACHINE_H
#define SR_TESTS_MACHINE_H

#include "kernels/conv/conv_shape.h"
#include "kernels/machine.h"

SrMachine *test_machine(void);
void test_machine_reset(void);
// Sets the highest level up to `level` that the processor has, and returns it.
SrCpuLevel test_machine_level(SrCpuLevel level);
// Returns the designs that the test's machine chooses for a shape.
SrConv test_conv(const SrConvShape *s);

#endif
