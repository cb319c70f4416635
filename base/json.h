// JSON on cJSON: reading whole documents, writing one-line records.
#ifndef SR_BASE_JSON_H
#define SR_BASE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"
#include "base/yaml.h"

// A JSON document into the same tree as YAML (objects: MAP, null: NULL, strings always STRING), so that one
// set of readers serves both.  Bounded like YAML, but up to
// max_bytes of text and 2 million values; a string may not hold U+0000.
SrStatus sr_json_parse(SrArena *arena, const char *text, size_t bytes, const char *file,
                       SrYaml **out);
// The members of an object one after the other: fn gets each as a MAP of that one key, in an arena
// that is emptied behind it, so that a large document costs the memory of its largest member
// (max_member bytes of text, 100000 values).  Keys of two members may be equal: that is for fn to notice.
typedef SrStatus (*SrJsonMember)(void *arg, const char *key, const SrYaml *value);
SrStatus sr_json_members(const char *text, size_t bytes, const char *file, size_t max_member,
                         SrJsonMember fn, void *arg);
SrStatus sr_json_load(SrArena *arena, const char *path, size_t max_bytes, SrYaml **out);

// One-line objects: sr_json_begin, fields, sr_json_end.  Numbers are written so that they read back equal;
// NaN and infinities as null.
void sr_json_begin(SrText *out);
void sr_json_int(SrText *out, const char *key, int64_t value);
void sr_json_float(SrText *out, const char *key, double value);
void sr_json_string(SrText *out, const char *key, const char *value);
void sr_json_bool(SrText *out, const char *key, int value);
void sr_json_end(SrText *out); // "}\n"
// The tree as JSON text on one line (checkpoint metadata, --json).
void sr_json_print(const SrYaml *node, SrText *out);

#endif
