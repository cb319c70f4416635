// Chooses a page of a TIFF file, named as photos/scan.tif#2, by rewriting the file's header in
// memory.  Decoders then find that page first.
#ifndef SR_DATA_READERS_TIFF_PAGE_H
#define SR_DATA_READERS_TIFF_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Returns the length of the path before "#N", and the page N from 1 on, if the path has the form
// FILE.tif#N or FILE.tiff#N.  0: it has another form.
size_t sr__tiff_page_split(const char *path, int *page);
// Makes the header of a file of n bytes point to page 1, 2, ...  A file that is no TIFF stays as it
// is.  SR_ERR_IO: the file has fewer pages.
SrStatus sr__tiff_page_choose(uint8_t *bytes, size_t n, int page);

#endif
