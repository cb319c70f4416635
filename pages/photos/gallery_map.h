// The map of the gallery: images that the trunk finds alike lie near each other.
#ifndef SR_PAGES_PHOTOS_GALLERY_MAP_H
#define SR_PAGES_PHOTOS_GALLERY_MAP_H

#include "pages/photos/gallery_parts.h"

// Appends the map by t-SNE with as many pictures as fit and points for the other images, and,
// folded, one by principal components.
void sr_gallery_map(const SrGallery *gallery, SrText *out);

#endif
