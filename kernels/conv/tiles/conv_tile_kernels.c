// Picks the table of a machine: tile registers, or their emulation in plain C.
#include "kernels/conv/tiles/conv_tile_kernels.h"

SR_CPU_TABLES_TILES(SrTileProducts, sr__tile_products);
SR_CPU_TABLES_TILES(SrTileOperands, sr__tile_operands);

const SrTileKernels *sr__tile_kernels(const SrMachine *machine) {
    static const SrTileKernels emulated = {&sr__tile_products_emulated,
                                           &sr__tile_operands_emulated};
    if (machine->emulates_tiles)
        return &emulated;
#if defined(__x86_64__)
    static const SrTileKernels amx = {&sr__tile_products_amx, &sr__tile_operands_amx};
    return sr_machine_has_tiles(machine) ? &amx : NULL;
#else
    return NULL;
#endif
}
