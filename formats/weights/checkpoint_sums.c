// Computes the checksums of checkpoints and verifies whole files against them.
#include "formats/weights/checkpoint_sums.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/text/json.h"

// Works in pieces, because zlib takes 32-bit lengths and a tensor may be larger.  CRC-32 guards
// against bit rot and truncated writes, not against forgery, and runs at memory speed.
uint32_t sr_checkpoint_sum(uint32_t crc, const void *data, size_t bytes) {
    const unsigned char *p = data;
    while (bytes > 0) {
        uInt piece = (uInt)SR_MIN(bytes, (size_t)1 << 30);
        crc = (uint32_t)crc32(crc, p, piece);
        p += piece;
        bytes -= piece;
    }
    return crc;
}

// Returns the size of the data in bytes; 0-d tensors hold one number.
static size_t tensor_bytes(const SrTensor *t) {
    return (size_t)sr_shape_count(t->shape) * sr_dtype_bytes(t->dtype);
}

// Keys are hashed with their terminating zero, so that a letter moved from key to value changes the
// checksum.
uint32_t sr_checkpoint_metadata_sum(const char *const *keys, const char *const *values, int n) {
    uint32_t crc = 0;
    for (int i = 0; i < n; i++) {
        if (strcmp(keys[i], "metadata_checksum") == 0)
            continue;
        crc = sr_checkpoint_sum(crc, keys[i], strlen(keys[i]) + 1);
        crc = sr_checkpoint_sum(crc, values[i], strlen(values[i]) + 1);
    }
    return crc;
}

// SR_ERR_IO makes the run folder fall back to an older checkpoint.
static SrStatus damaged(const char *path, const char *what) {
    SR_FAIL(SR_ERR_IO, "%s: damaged checkpoint: %s", path, what);
}

bool sr_checkpoint_is_named(const SrSafetensors *st) {
    const char *format = sr_safetensors_meta(st, "format");
    return format && strcmp(format, SR_CHECKPOINT_NAME) == 0;
}

// Verifies the metadata first: everything else is trusted only after this.
SrStatus sr_checkpoint_verify_metadata(const SrSafetensors *st, const char *path) {
    if (!sr_checkpoint_is_named(st))
        SR_FAIL(SR_ERR_CONFIG,
                "%s is not a checkpoint of sslrun; for weights alone, set "
                "MODEL.WEIGHTS_INIT.PARAMS_FILE",
                path);
    const char *stored = sr_safetensors_meta(st, "metadata_checksum");
    uint32_t crc = sr_checkpoint_metadata_sum(st->meta_keys, st->meta_values, st->n_meta);
    if (!stored || strtoul(stored, NULL, 10) != crc)
        return damaged(path, "the checksum of its metadata differs");
    const char *version = sr_safetensors_meta(st, "format_version");
    if (!version || atoi(version) != SR_CHECKPOINT_FORMAT)
        SR_FAIL(SR_ERR_CONFIG,
                "%s has checkpoint format %s, but this version of sslrun reads format %d", path,
                version ? version : "(none)", SR_CHECKPOINT_FORMAT);
    return SR_OK;
}

// A tensor without a checksum and a checksum without a tensor both count as damage.
static SrStatus verify_tensors(const SrSafetensors *st, const char *path, const SrYaml *sums) {
    for (int i = 0; i < st->n; i++) {
        const SrNamedTensor *t = &st->tensors[i];
        const SrYaml *sum = sr_yaml_find(sums, t->name);
        if (!sum ||
            sum->i != (int64_t)sr_checkpoint_sum(0, t->tensor.data, tensor_bytes(&t->tensor)))
            SR_FAIL(SR_ERR_IO, "%s: damaged checkpoint: the checksum of '%s' differs", path,
                    t->name);
    }
    if (!sums || sums->n != st->n)
        return damaged(path, "tensors are missing");
    return SR_OK;
}

// Reads every byte of the file once: a few hundred milliseconds per gigabyte, on resume only.
SrStatus sr_checkpoint_verify(const SrSafetensors *st, const char *path) {
    SR_TRY(sr_checkpoint_verify_metadata(st, path));
    const char *text = sr_safetensors_meta(st, "checksums");
    if (!text)
        return damaged(path, "it has no checksums");
    SrArena arena = SR_ARENA_INIT;
    SrYaml *sums = NULL;
    SrStatus status = sr_json_parse(&arena, text, strlen(text), path, &sums);
    if (status == SR_ERR_CONFIG)
        status = damaged(path, "its checksums are not JSON");
    if (status == SR_OK)
        status = verify_tensors(st, path, sums);
    sr_arena_deinit(&arena);
    return status;
}
