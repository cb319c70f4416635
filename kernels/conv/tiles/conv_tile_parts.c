// The products of parts, and the line of zeros.
#include "kernels/conv/tiles/conv_tile_parts.h"

#include "base/compiler.h"

const char sr__tile_zeros[SR_TILE_MOST_CHUNKS * SR_TILE_LINE] __attribute__((aligned(SR_ALIGN)));

SrTileParts sr__tile_parts(int parts) {
    SR_ASSERT(parts >= 1 && parts <= 3);
    static const SrTileParts all[] = {
        {1, {0}, {0}}, {3, {1, 0, 0}, {0, 1, 0}}, {6, {2, 0, 1, 1, 0, 0}, {0, 2, 1, 0, 1, 0}}};
    return all[parts - 1];
}

int sr__tile_parts_of(const SrMachine *machine, SrDtype type) {
    if (type == SR_BF16)
        return 1;
    return machine->fp32 == SR_CONV_FP32_IEEE ? 0 : machine->fp32 == SR_CONV_FP32_X3 ? 2 : 3;
}
