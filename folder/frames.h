// Takes pictures out of a film through ffmpeg, and drops those that repeat the one before.
//
// ffmpeg runs as a process of its own, without a shell, and writes its pictures into a pipe.
#ifndef SR_FOLDER_FRAMES_H
#define SR_FOLDER_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    const char *out; // folder, made if it is missing
    double rate;     // pictures per second of film that are looked at; 0: all
    int near;        // a picture is dropped if its shape hash differs from that of the last picture
                     // kept in at most so many of 64 bits; -1: none is dropped
    bool png;        // write PNG, without loss.  False: JPEG of quality 95
} SrFramesOptions;

typedef struct {
    int64_t seen, kept;
} SrFramesResult;

// Writes <out>/<name of the film>-00000001.jpg and so on; numbers count all pictures looked at, so
// that names sort in the order of the film.  SR_ERR_CONFIG: the folder holds pictures of a film of
// that name.  SR_ERR_RUN: ffmpeg is not installed.  SR_ERR_IO: ffmpeg cannot read the film, or a
// picture cannot be written; pictures written before stay.
SrStatus sr_frames_take(const char *film, const SrFramesOptions *options, SrFramesResult *out);

#endif
