// Pictures for TensorBoard: a contact sheet of augmentations, and features of test images for its
// embedding projector (tensors.tsv, metadata.tsv, sprite.png, projector_config.pbtxt).
#ifndef SR_PAGES_PHOTOS_PROJECTOR_H
#define SR_PAGES_PHOTOS_PROJECTOR_H

#include "pages/photos/gallery_data.h"

// Both write below <CHECKPOINT.DIR>/tb_logs.  Without HOOKS.TENSORBOARD_SETUP.USE_TENSORBOARD
// they do nothing.
SrStatus sr_projector_augmentations(const SrConfig *config);
SrStatus sr_projector_features(const SrConfig *config, const SrGalleryData *data);

#endif
