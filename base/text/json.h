// JSON: reads whole documents by jansson and writes records of one line.
#ifndef SR_BASE_TEXT_JSON_H
#define SR_BASE_TEXT_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text/text.h"
#include "base/text/yaml.h"

// Parses a JSON document into a YAML tree, so that the same readers serve both.  An object
// becomes a MAP, null becomes NULL, and strings are always STRING.  The arena owns the tree.
// Bounds: 2 million values, and YAML's depth.  SR_ERR_CONFIG for more, for U+0000 in a string, for
// a repeated key, for an integer beyond 64 bits, and for a number beyond the range of a double.
SrStatus sr_json_parse(SrArena *arena, const char *text, size_t bytes, const char *file,
                       SrYaml **out);
// Reads an object member by member: fn gets the key and value of each, in an arena that is
// emptied after the call.  A large document costs the memory of its largest member, which may
// have max_member bytes of text and 100,000 values.  Repeated keys are not detected here; fn has
// to check.
typedef SrStatus (*SrJsonMember)(void *arg, const char *key, const SrYaml *value);
SrStatus sr_json_members(const char *text, size_t bytes, const char *file, size_t max_member,
                         SrJsonMember fn, void *arg);
// Reads and parses a file of at most max_bytes.
SrStatus sr_json_load(SrArena *arena, const char *path, size_t max_bytes, SrYaml **out);

// Write an object on one line: sr_json_begin, fields, sr_json_end.  Numbers read back as equal; NaN
// and infinities are written as null.
void sr_json_begin(SrText *out);
void sr_json_int(SrText *out, const char *key, int64_t value);
void sr_json_float(SrText *out, const char *key, double value);
void sr_json_string(SrText *out, const char *key, const char *value);
void sr_json_bool(SrText *out, const char *key, int value);
void sr_json_end(SrText *out); // appends "}\n"
// Writes the tree as JSON on one line, for the metadata of checkpoints and for --json.
void sr_json_print(const SrYaml *node, SrText *out);

#endif
