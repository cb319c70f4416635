// Computes the depth of parameters from their names, and that of a net from its stages.
#include "trunks/shared/depth.h"

#include <string.h>

#include "base/text/text.h"

int sr_depth_of_stages(const char *name, int stages) {
    int stage = sr_text_number_after(name, "layer");
    const char *stem[] = {"conv1", "bn1"};
    if (stage >= 0)
        return stage;
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(name, stem[i]);
        if (at && (at == name || at[-1] == '.'))
            return 0;
    }
    return stages + 1;
}

int sr_depth_of_blocks(const char *name, int blocks) {
    int block = sr_text_number_after(name, "blocks.");
    if (strstr(name, "patch_embed") || strstr(name, "pos_embed") || strstr(name, "cls_token"))
        return 0;
    return block >= 0 ? block + 1 : blocks;
}

int sr_depth_total(SrInts depths) {
    int total = 0;
    for (int i = 0; i < depths.n; i++)
        total += depths.v[i];
    return total;
}
