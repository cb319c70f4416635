// Decodes HEIC (HEVC) and AVIF (AV1) by libheif.
//
// The build includes this file if it finds the library's header; `make HEIF=no` leaves it out.  The
// library allocates its working memory itself and refuses sides above 32768.
#include "data/readers/heif.h"

#include <libheif/heif.h>
#include <string.h>

#include "data/image_pool.h"

typedef struct {
    struct heif_context *context;
    struct heif_image_handle *handle;
    struct heif_image *image;
} Heif;

static void heif_close(Heif *h) {
    if (h->image)
        heif_image_release(h->image);
    if (h->handle)
        heif_image_handle_release(h->handle);
    if (h->context)
        heif_context_free(h->context);
}

// The library also calls it a memory error if a file claims more than its limits allow.
static SrStatus check(struct heif_error error) {
    if (error.code == heif_error_Ok)
        return SR_OK;
    if (error.code == heif_error_Memory_allocation_error &&
        error.subcode != heif_suberror_Security_limit_exceeded)
        return sr_out_of_memory("a HEIC or AVIF image");
    if (error.code == heif_error_Unsupported_filetype ||
        error.code == heif_error_Unsupported_feature)
        SR_FAIL(SR_ERR_IO, "libheif cannot decode this HEIC or AVIF (%s)", error.message);
    SR_FAIL(SR_ERR_IO, "damaged HEIC or AVIF (%s)", error.message);
}

static SrStatus open_primary(const uint8_t *bytes, size_t n, Heif *h) {
    *h = (Heif){.context = heif_context_alloc()};
    SR_TRY_MEMORY(h->context, "a HEIC or AVIF image");
    heif_context_set_max_decoding_threads(h->context, 0); // loaders bring their own threads
    SR_TRY(check(heif_context_read_from_memory_without_copy(h->context, bytes, n, NULL)));
    return check(heif_context_get_primary_image_handle(h->context, &h->handle));
}

SrStatus sr__heif_probe(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    Heif h;
    int w = 0, height = 0;
    SrStatus status = open_primary(bytes, n, &h);
    if (status == SR_OK) {
        w = heif_image_handle_get_width(h.handle);
        height = heif_image_handle_get_height(h.handle);
    }
    heif_close(&h);
    SR_TRY(status);
    out->format = SR_IMAGE_HEIF;
    out->components = 3;
    return sr__image_check_size(out, (uint32_t)height, (uint32_t)w, n, INT64_MAX);
}

static SrStatus decode(Heif *h, SrImage *out) {
    int stride = 0;
    SR_TRY(check(heif_decode_image(h->handle, &h->image, heif_colorspace_RGB,
                                   heif_chroma_interleaved_RGB, NULL)));
    int w = heif_image_get_width(h->image, heif_channel_interleaved);
    int height = heif_image_get_height(h->image, heif_channel_interleaved);
    const uint8_t *rows =
        heif_image_get_plane_readonly(h->image, heif_channel_interleaved, &stride);
    if (!rows || w != out->W || height != out->H)
        SR_FAIL(SR_ERR_IO, "damaged HEIC or AVIF (size)");
    for (int y = 0; y < height; y++)
        memcpy(out->rgb + (size_t)y * (size_t)w * 3, rows + (size_t)y * (size_t)stride,
               (size_t)w * 3);
    return SR_OK;
}

SrStatus sr__heif_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                         SrImagePool *pool, SrImage *out) {
    Heif h;
    SR_TRY(sr_image_new(pool, probe->H, probe->W, out));
    SrStatus status = open_primary(bytes, n, &h);
    if (status == SR_OK)
        status = decode(&h, out);
    heif_close(&h);
    return status;
}
