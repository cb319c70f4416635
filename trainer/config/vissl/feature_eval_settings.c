// Refuses combinations of MODEL.FEATURE_EVAL_SETTINGS that contradict each other.
// trunks/shared/feature_extractor.c and trainer/model do what the flags ask for.
//
// VISSL takes any combination, and the flag that it reads first wins.  Users combine flags when
// they copy from two recipes, so each error names the recipe that comes closest.
#include "trainer/config/vissl/feature_eval_settings.h"
#include "base/log.h"
#include "base/text/yaml_edit.h"
#include "trainer/config/vissl/schema.h"

#define LINEAR_EVAL "for a linear evaluation set EVAL_MODE_ON and FREEZE_TRUNK_ONLY"
#define TRUNK_FEATURES                                                      \
    "for features of trunk layers set EVAL_MODE_ON, FREEZE_TRUNK_ONLY and " \
    "EXTRACT_TRUNK_FEATURES_ONLY"
#define HEAD_FEATURES \
    "for features after the head set EVAL_MODE_ON, FREEZE_TRUNK_AND_HEAD and EVAL_TRUNK_AND_HEAD"

typedef struct {
    bool eval, trunk, both, extract, whole, pooled; // the flags, and a non-empty map of pooling ops
} Flags;

static Flags read_flags(const SrYaml *settings) {
    const SrYaml *map = sr_yaml_find(settings, "LINEAR_EVAL_FEAT_POOL_OPS_MAP");
    return (Flags){
        .eval = sr_tree_bool(settings, "EVAL_MODE_ON", false),
        .trunk = sr_tree_bool(settings, "FREEZE_TRUNK_ONLY", false),
        .both = sr_tree_bool(settings, "FREEZE_TRUNK_AND_HEAD", false),
        .extract = sr_tree_bool(settings, "EXTRACT_TRUNK_FEATURES_ONLY", false),
        .whole = sr_tree_bool(settings, "EVAL_TRUNK_AND_HEAD", false),
        .pooled = map && map->type == SR_YAML_LIST && map->n > 0,
    };
}

// Returns a sentence about the first contradiction and what was probably meant.  NULL: there is
// none. The most telling contradiction is tested first.
static const char *contradiction(Flags f) {
    if (f.trunk && f.both)
        return "FREEZE_TRUNK_ONLY and FREEZE_TRUNK_AND_HEAD exclude each other; " LINEAR_EVAL
               ", " HEAD_FEATURES;
    if (f.extract && (f.both || f.whole))
        return "EXTRACT_TRUNK_FEATURES_ONLY removes the heads, but FREEZE_TRUNK_AND_HEAD and "
               "EVAL_TRUNK_AND_HEAD need them; " TRUNK_FEATURES ", " HEAD_FEATURES;
    if (f.extract && !(f.eval && f.trunk))
        return "EXTRACT_TRUNK_FEATURES_ONLY needs a frozen trunk; " TRUNK_FEATURES;
    // VISSL builds its feature extractor in evaluation only, and leaves the map out otherwise.
    if (f.pooled && (f.trunk || f.both) && !f.eval)
        return "LINEAR_EVAL_FEAT_POOL_OPS_MAP over a frozen trunk needs EVAL_MODE_ON; " LINEAR_EVAL;
    return NULL;
}

// Returns the first flag that was set: it has a line in a file, which the map of all may lack.
static const SrYaml *place(const SrYaml *settings) {
    for (int i = 0; i < settings->n; i++) {
        const SrYaml *flag = settings->items[i];
        if (flag->type == SR_YAML_BOOL && flag->b && !sr_tree_is_default(flag))
            return flag;
    }
    return settings;
}

// A map of layers without freezing is legal: heads then read several layers of a trunk that learns.
// A linear evaluation whose author forgot these flags looks the same.
SrStatus sr__eval_settings_check(const SrYaml *tree) {
    const SrYaml *settings = sr_yaml_find_path(tree, "MODEL.FEATURE_EVAL_SETTINGS");
    Flags f = read_flags(settings);
    const char *what = contradiction(f);
    if (what)
        SR_FAIL(SR_ERR_CONFIG, "%s: MODEL.FEATURE_EVAL_SETTINGS: %s",
                sr_yaml_place(place(settings)).text, what);
    if (f.both && f.eval && !f.whole)
        sr_warn("FREEZE_TRUNK_AND_HEAD with EVAL_MODE_ON loads no weights into the heads "
                "(" HEAD_FEATURES ")");
    if (f.pooled && !f.trunk && !f.both)
        sr_info("LINEAR_EVAL_FEAT_POOL_OPS_MAP: the heads use features of these layers, and the "
                "trunk learns too (" LINEAR_EVAL ")");
    return SR_OK;
}
