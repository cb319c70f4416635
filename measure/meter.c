// The registry of meters; see the header.
#include "measure/meter.h"

#include <math.h>
#include <string.h>

#include "base/plugin.h"

#define SR_PLUGIN(stem) extern const SrMeter sr_meter_##stem;
#include "gen/meter.def"
#undef SR_PLUGIN

#define SR_PLUGIN(stem) &sr_meter_##stem,
static const SrMeter *const registry[] = {
#include "gen/meter.def"
    NULL};

const SrMeter *sr_meter_at(int i) { return i >= 0 && i < SR_COUNT(registry) ? registry[i] : NULL; }

SrStatus sr_meter_find(const char *name, const SrMeter **out) {
    const char *known[SR_COUNT(registry)] = {NULL};
    int n = 0;
    for (; registry[n]; n++) {
        known[n] = registry[n]->name;
        if (strcmp(known[n], name) == 0) {
            *out = registry[n];
            return SR_OK;
        }
    }
    return sr_plugin_unknown("meter", name, known, n);
}

double sr_meter_percent(double share) { return 100 * (round(share * 1e6) / 1e6); }
