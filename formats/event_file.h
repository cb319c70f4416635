// Writes TensorBoard's event files.  A record is a length, its checksum, an Event message and its
// checksum; checksums are CRC-32C, rotated and shifted as in TFRecord.  Messages are protocol
// buffers (event.proto and summary.proto of TensorBoard).  The reader is in tests/formats.
#ifndef SR_FORMATS_EVENT_FILE_H
#define SR_FORMATS_EVENT_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text/text.h"

typedef struct {
    FILE *f;                    // NULL: not open, and every call does nothing
    SrText record, value, part; // scratch for one record
} SrEventFile;

// Creates the folder and the file dir/events.out.tfevents.<time>.<host>.<process> in it.
SrStatus sr_event_file_open(SrEventFile *e, const char *dir);
void sr_event_scalar(SrEventFile *e, int64_t step, const char *tag, double value);
// Writes an image of h x w pixels; png holds the whole file.
void sr_event_image(SrEventFile *e, int64_t step, const char *tag, int h, int w, const SrText *png);
// Writes the histogram of n numbers in 30 buckets of equal width.
void sr_event_histogram(SrEventFile *e, int64_t step, const char *tag, const float *x, int64_t n);
// Flushes the file.  A full disk gives one warning, and later calls write nothing.
void sr_event_flush(SrEventFile *e);
void sr_event_file_close(SrEventFile *e); // legal for a zeroed struct

uint32_t sr_crc32c(const void *bytes, size_t n); // Castagnoli's CRC (RFC 3720)

#endif
