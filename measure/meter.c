// Registry of meters, and the rounding that they share.
#include "measure/meter.h"

#include <math.h>

#include "base/plugin/plugin.h"

#include "gen/meter.def"

SR_REGISTRY(SrMeter, meter, meter, "meter")

// Rounds halves to even, as Python does.
double sr_meter_percent(double share) { return 100 * (rint(share * 1e6) / 1e6); }
