// Compares program, configuration and data between ranks, by checksums.
#include "trainer/run/ranks/ranks_same.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "base/text/yaml_print.h"
#include "data/image_pool.h"
#include "kernels/machine.h"

// ---- program and processor

// Compares the bytes of the running program: two builds of one version differ too.  A rank that
// cannot read them is no other program, so nothing is compared then.
static SrStatus same_program(void) {
    const void *bytes = NULL;
    char text[24] = "";
    size_t n = 0;
    bool read = sr_file_map("/proc/self/exe", &bytes, &n) == SR_OK;
    if (read) {
        snprintf(text, sizeof text, "%016" PRIx64, sr_hash_long(SR_HASH_START, bytes, n));
        sr_file_unmap(bytes, n);
    }
    sr_status_clear();
    return sr_comm_max(!read) ? SR_OK : sr_comm_check_same("the program's file", text);
}

static SrStatus same_instructions(void) {
    return sr_comm_check_same("the instructions of their processors (SR_CPU=plain, avx2, avx512 "
                              "... in the environment limits them)",
                              sr_machine_name(sr_machine_default()));
}

SrStatus sr_ranks_same_start(const SrConfig *config) {
    SrText text = SR_TEXT_INIT;
    SrStatus status = SR_OK;
    if (sr_comm_size() == 1)
        return SR_OK;
    SR_TRY(same_program());
    SR_TRY(same_instructions());
    sr_yaml_print(config->tree, &text);
    SR_TRY_GOTO(sr_comm_agree(text.failed ? sr_out_of_memory("the configuration") : SR_OK));
    SR_TRY_GOTO(sr_comm_check_same_lines("the configuration", text.s ? text.s : ""));
done:
    sr_text_deinit(&text);
    return status;
}

// ---- data

enum { LOOKED_AT = 4096, READ = 16 };

// Returns image k of n images that are spread over the set.
static int64_t spread(int64_t k, int64_t n, int64_t images) {
    return n < 2 ? 0 : k * (images - 1) / (n - 1);
}

// A failure of the system is no difference between images: it ends the comparison.
static bool is_of_system(SrStatus status) { return status != SR_OK && status != SR_ERR_IO; }

// Adds label and name of an image; without a name, the label alone.
static SrStatus add_name(const SrSplit *s, int64_t i, SrImagePool *pool, SrText *out) {
    const char *path = "";
    SrStatus status = s->source->path ? s->source->path(s->set, i, pool, &path) : SR_OK;
    if (status != SR_OK)
        path = "";
    sr_text_printf(out, "%" PRId64 " %s\n", s->source->label(s->set, i), path);
    sr_image_pool_reset(pool);
    return is_of_system(status) ? status : SR_OK;
}

// Adds the bytes of an image's file.  The loader reports files that cannot be read.
static SrStatus add_bytes(const SrSplit *s, int64_t i, SrImagePool *pool, SrText *out) {
    SrSample sample = {.path = ""};
    SrStatus status = s->source->read(s->set, i, pool, &sample);
    if (status == SR_OK) {
        const SrImage *image = &sample.image;
        size_t n = sr_image_samples(image);
        uint64_t hash = sample.encoded ? sr_hash_bytes(sample.encoded, sample.encoded_bytes)
                        : image->rgb   ? sr_hash_bytes(image->rgb, n)
                        : image->f     ? sr_hash_bytes(image->f, n * sizeof *image->f)
                                       : 0;
        sr_text_printf(out, "%016" PRIx64 "\n", hash);
    }
    sr_image_pool_reset(pool);
    return is_of_system(status) ? status : SR_OK;
}

// status: of this rank's text.
static SrStatus compare(const char *what, SrStatus status, SrText *text) {
    if (status == SR_OK && text->failed)
        status = sr_out_of_memory("names of images");
    SR_TRY(sr_comm_agree(status));
    SR_TRY(sr_comm_check_same(what, text->s ? text->s : ""));
    text->len = 0;
    return SR_OK;
}

static SrStatus compare_data(const SrSplit *s, SrImagePool *pool, SrText *text) {
    int64_t images = s->source->length(s->set);
    int64_t names = SR_MIN(images, LOOKED_AT), read = SR_MIN(images, READ);
    SrStatus status = SR_OK;
    sr_text_printf(text, "%" PRId64 " images\n", images);
    SR_TRY(compare("the number of training images", status, text));
    for (int c = 0; s->source->class_name && c < s->source->classes(s->set); c++)
        sr_text_printf(text, "%s\n", s->source->class_name(s->set, c));
    SR_TRY(compare("the classes of the training images", status, text));
    for (int64_t k = 0; k < names && status == SR_OK; k++)
        status = add_name(s, spread(k, names, images), pool, text);
    SR_TRY(compare("names or labels of the training images", status, text));
    for (int64_t k = 0; k < read && status == SR_OK; k++)
        status = add_bytes(s, spread(k, read, images), pool, text);
    return compare("the bytes of the training images", status, text);
}

SrStatus sr_ranks_same_data(const SrSplit *train) {
    SrText text = SR_TEXT_INIT;
    SrImagePool *pool = NULL;
    SrStatus status;
    if (sr_comm_size() == 1 || !train->set)
        return SR_OK;
    SR_TRY_GOTO(sr_image_pool_new(&pool));
    SR_TRY_GOTO(compare_data(train, pool, &text));
done:
    sr_image_pool_free(pool);
    sr_text_deinit(&text);
    return status;
}
