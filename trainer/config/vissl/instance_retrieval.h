// VISSL's instance retrieval (IMG_RETRIEVAL): images are resized to a longer side, features are
// pooled over regions or by GeM, averaged over scales, and whitened.  `sslrun retrieve` has none of
// these steps.
#ifndef SR_TRAINER_CONFIG_INSTANCE_RETRIEVAL_H
#define SR_TRAINER_CONFIG_INSTANCE_RETRIEVAL_H

#include "trainer/config/config.h"

// SR_ERR_CONFIG if a key of IMG_RETRIEVAL differs from its default; the message names such keys,
// and says how to rank images without these steps.
SrStatus sr_config_check_retrieval(const SrConfig *config);

#endif
