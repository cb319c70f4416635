// Compares IMG_RETRIEVAL with VISSL's defaults.
#include "trainer/config/vissl/instance_retrieval.h"

#include <string.h>

#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "trainer/config/vissl/vissl_keys.h"

static const char section[] = "IMG_RETRIEVAL";

// Lists the keys of `given` whose values differ from `usual`.
static void list_changes(const SrYaml *given, const SrYaml *usual, SrText *out) {
    for (int i = 0; i < given->n; i++) {
        const SrYaml *initial = sr_yaml_find(usual, given->keys[i]);
        if (!initial || sr_tree_difference(given->items[i], initial))
            sr_text_printf(out, "%s%s", out->len ? ", " : "", given->keys[i]);
    }
}

SrStatus sr_config_check_retrieval(const SrConfig *config) {
    const SrYaml *given = sr_yaml_find(config->tree, section);
    const SrVisslKey *row = sr__vissl_keys;
    SrArena arena = SR_ARENA_INIT;
    SrText changed = SR_TEXT_INIT;
    SrYaml *usual = NULL;
    while (row->path && strcmp(row->path, section) != 0)
        row++;
    if (!row->path || !given || given->type != SR_YAML_MAP)
        return SR_OK;
    SrStatus status = sr_yaml_parse(&arena, row->initial, strlen(row->initial), section, &usual);
    if (status == SR_OK)
        list_changes(given, usual, &changed);
    if (status == SR_OK && changed.s)
        status = sr_fail(SR_ERR_CONFIG,
                         "%s: IMG_RETRIEVAL sets %s: resizing, pooling and whitening of VISSL's "
                         "instance retrieval are not built. To rank the layer's features as they "
                         "are, append '~IMG_RETRIEVAL' and say in DATA.TEST.TRANSFORMS how images "
                         "are prepared, such as [{name: ImgPilResizeLargerSide, size: 1024}, "
                         "{name: ToTensor}]",
                         config->path, changed.s);
    sr_text_deinit(&changed);
    sr_arena_deinit(&arena);
    return status;
}
