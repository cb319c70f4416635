// Pictures for TensorBoard beside a run's scalars: a contact sheet of augmentations, and the features of test images as
// its embedding projector reads them (tensors.tsv, metadata.tsv, sprite.png, projector_config.pbtxt).
#ifndef SR_PAGES_PROJECTOR_H
#define SR_PAGES_PROJECTOR_H

#include "pages/gallery_data.h"

// Both write below <CHECKPOINT.DIR>/tb_logs and do nothing without HOOKS.TENSORBOARD_SETUP.USE_TENSORBOARD.
SrStatus sr_projector_augmentations(const SrConfig *config);
SrStatus sr_projector_features(const SrConfig *config, const SrGalleryData *data);

#endif
