// Photos of a page or of a contact sheet while it is put together: pictures with captions, in
// sections.
#ifndef SR_PAGES_PHOTOS_PHOTO_BODY_H
#define SR_PAGES_PHOTOS_PHOTO_BODY_H

#include "base/arena.h"
#include "base/text/text.h"
#include "data/image_pool.h"
#include "pages/photos/thumbnails.h"

enum { SR_PHOTOS_MOST = 480, SR_PHOTO_SECTIONS_MOST = 512 };

typedef struct {
    const char *heading;
    int first; // first photo; the section ends where the next one begins
} SrPhotoSection;

typedef struct {
    SrThumb thumb[SR_PHOTOS_MOST]; // side 0: the file could not be opened
    SrThumbUse use[SR_PHOTOS_MOST];
    const char *caption[SR_PHOTOS_MOST];
    const char *name[SR_PHOTOS_MOST]; // of the file, without folders
    int n;
    SrPhotoSection section[SR_PHOTO_SECTIONS_MOST];
    int n_sections;
    SrArena arena;
    SrImagePool *pool;
    SrText html; // the page below its title
} SrPhotoBody;

SrStatus sr_photo_body_new(SrPhotoBody **out);
void sr_photo_body_free(SrPhotoBody *body);
// Begins a section: on the sheet by its heading, on the page by what the caller adds to html.
void sr_photo_body_section(SrPhotoBody *body, const char *heading);
// Open and close a grid of photos in html.
void sr_photo_body_begin(SrPhotoBody *body);
void sr_photo_body_end(SrPhotoBody *body);
// Adds a photo with a caption below it; its path is the tooltip.  False: the body is full.
bool sr_photo_body_add(SrPhotoBody *body, const char *path, const char *caption);

#endif
