// The registry of meters; see the header.
#include "measure/meter.h"

#include <math.h>

#include "base/plugin.h"

#include "gen/meter.def"

SR_REGISTRY(SrMeter, meter, meter, "meter")

// Halves go to the even neighbour, as in Python.
double sr_meter_percent(double share) { return 100 * (rint(share * 1e6) / 1e6); }
