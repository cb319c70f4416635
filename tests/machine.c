// Holds the machine that the present test computes with (machine.h).
#include "tests/machine.h"

#include "kernels/conv/conv.h"

static SrMachine machine;

SrMachine *test_machine(void) {
    if (!machine.second_cache)
        test_machine_reset();
    return &machine;
}

void test_machine_reset(void) { machine = *sr_machine_default(); }

SrCpuLevel test_machine_level(SrCpuLevel level) {
    return test_machine()->level = sr_cpu_detect(level);
}

SrConv test_conv(const SrConvShape *s) {
    SrConvShape shape = *s;
    shape.machine = test_machine();
    return sr_conv_choose(&shape);
}
