// File of a teacher's outputs: one record per batch and cached epoch, in half precision, mapped
// into memory.  Each record has a checksum, so that a record that a kill or a disk has damaged
// counts as missing.  The header has a checksum and the fingerprint of everything that the outputs
// depend on.  Processes may share a file: equal fingerprints give equal records.
#ifndef SR_TRAINER_RUN_TEACHER_CACHE_H
#define SR_TRAINER_RUN_TEACHER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    uint64_t fingerprint;
    int64_t epochs, batches; // cached epochs; batches per epoch
    int64_t values;          // numbers per batch
} SrTeacherCacheForm;

typedef struct SrTeacherCache SrTeacherCache;

// Returns the size of the file.
size_t sr_teacher_cache_bytes(const SrTeacherCacheForm *form);
// Opens the file, or makes an empty one.  renew: a file of another fingerprint is replaced, with a
// line in the log; otherwise it is SR_ERR_CONFIG.  SR_ERR_IO: the header is damaged, the file is
// something else, or the disk is full.
SrStatus sr_teacher_cache_open(const char *path, const SrTeacherCacheForm *form, bool renew,
                               SrTeacherCache **out);
void sr_teacher_cache_close(SrTeacherCache *cache); // legal for NULL
// Returns the number of records that were written.
int64_t sr_teacher_cache_written(const SrTeacherCache *cache);
// Returns the record's first n numbers.  NULL: it is missing or damaged.  The first damaged record
// is one line in the log.
const uint16_t *sr_teacher_cache_find(SrTeacherCache *cache, int64_t epoch, int64_t batch,
                                      int64_t n);
// Writes a record of n numbers, at most form.values.
void sr_teacher_cache_put(SrTeacherCache *cache, int64_t epoch, int64_t batch,
                          const uint16_t *values, int64_t n);

#endif
