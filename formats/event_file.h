// TensorBoard's event files, written: records of a length, its checksum, an Event message and its checksum, where
// checksums are CRC-32C rotated and shifted (TFRecord), and messages are protocol buffers (event.proto, summary.proto of
// TensorBoard).  Not read here; tests/formats has a reader.
#ifndef SR_FORMATS_EVENT_FILE_H
#define SR_FORMATS_EVENT_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text.h"

typedef struct {
    FILE *f; // NULL: not open, and every call does nothing
    SrText record, value, part;
} SrEventFile;

// A new file dir/events.out.tfevents.<time>.<host>.<process>; the folder is made.
SrStatus sr_event_file_open(SrEventFile *e, const char *dir);
void sr_event_scalar(SrEventFile *e, int64_t step, const char *tag, double value);
// A PNG of h x w pixels.
void sr_event_image(SrEventFile *e, int64_t step, const char *tag, int h, int w, const SrText *png);
// The distribution of n numbers in 30 buckets of one width.
void sr_event_histogram(SrEventFile *e, int64_t step, const char *tag, const float *x, int64_t n);
// What was written reaches readers; a full disk is a warning, and nothing more is written.
void sr_event_flush(SrEventFile *e);
void sr_event_file_close(SrEventFile *e); // also of one that was never opened

uint32_t sr_crc32c(const void *bytes, size_t n); // Castagnoli's, as RFC 3720 has it

#endif
