// Writes temporary files and encodes pictures for tests: JPEG by stb_image_write, PNG chunk by
// chunk (fixture.h).
#include "tests/data/fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/skip.h"

#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function" // only the JPEG writer is used
#include <stb/stb_image_write.h>

const char *fixture_folder(char path[256]) {
    const char *base = getenv("TMPDIR");
    snprintf(path, 256, "%s/sslrun-test-XXXXXX", base && *base ? base : P_tmpdir);
    CHECK(mkdtemp(path) != NULL);
    return path;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

void fixture_remove(const char *folder) { nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

const char *fixture_write(const char *folder, const char *name, const void *bytes, size_t n) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *p = strchr(path + strlen(folder) + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        mkdir(path, 0755);
        *p = '/';
    }
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    CHECK(fwrite(bytes, 1, n, f) == n);
    fclose(f);
    return path;
}

// ---- encoders ----

typedef struct {
    uint8_t *bytes;
    size_t n, cap;
} Out;

static void put(void *context, void *data, int size) {
    Out *out = context;
    if (out->n + (size_t)size > out->cap) {
        out->cap = 2 * (out->n + (size_t)size);
        out->bytes = realloc(out->bytes, out->cap);
        CHECK(out->bytes != NULL);
    }
    memcpy(out->bytes + out->n, data, (size_t)size);
    out->n += (size_t)size;
}

void *fixture_jpeg(const uint8_t *pixels, int h, int w, int channels, size_t *n) {
    Out out = {0};
    CHECK(stbi_write_jpg_to_func(put, &out, w, h, channels, pixels, 90));
    *n = out.n;
    return out.bytes;
}

static void put32(uint8_t *p, uint32_t v) {
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void put_chunk(Out *out, const char *type, const uint8_t *data, size_t n) {
    uint8_t head[8], tail[4];
    put32(head, (uint32_t)n);
    memcpy(head + 4, type, 4);
    uint32_t crc = (uint32_t)crc32(crc32(0, head + 4, 4), data, (uInt)n);
    put32(tail, n ? crc : (uint32_t)crc32(0, head + 4, 4));
    put(out, head, 8);
    if (n)
        put(out, (void *)(uintptr_t)data, (int)n);
    put(out, tail, 4);
}

void *fixture_raw_png(int h, int w, int depth, int color, const uint8_t *palette, int palette_bytes,
                      const uint8_t *rows, size_t row_bytes, size_t *n) {
    Out out = {0};
    uint8_t header[13] = {0};
    put32(header, (uint32_t)w);
    put32(header + 4, (uint32_t)h);
    header[8] = (uint8_t)depth;
    header[9] = (uint8_t)color;
    uLongf packed_bytes = compressBound((uLong)(row_bytes * (size_t)h));
    uint8_t *packed = malloc(packed_bytes);
    CHECK(packed && compress(packed, &packed_bytes, rows, (uLong)(row_bytes * (size_t)h)) == Z_OK);
    put(&out, "\x89PNG\r\n\x1a\n", 8);
    put_chunk(&out, "IHDR", header, 13);
    if (palette)
        put_chunk(&out, "PLTE", palette, (size_t)palette_bytes);
    put_chunk(&out, "IDAT", packed, packed_bytes);
    put_chunk(&out, "IEND", NULL, 0);
    free(packed);
    *n = out.n;
    return out.bytes;
}

void *fixture_png(const uint8_t *pixels, int h, int w, int channels, size_t *n) {
    static const int colors[5] = {0, 0, 4, 2, 6};
    size_t row = (size_t)w * (size_t)channels;
    uint8_t *rows = calloc((size_t)h, row + 1); // each row starts with its filter type, 0: none
    CHECK(rows != NULL);
    for (int y = 0; y < h; y++)
        memcpy(rows + (size_t)y * (row + 1) + 1, pixels + (size_t)y * row, row);
    void *png = fixture_raw_png(h, w, 8, colors[channels], NULL, 0, rows, row + 1, n);
    free(rows);
    return png;
}

// ---- pictures ----

void fixture_noise(uint8_t *out, size_t n, uint64_t seed) {
    SrRng rng = sr_rng(seed, SR_RNG_TEST, 0, 0, 0, 0);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)sr_rng_below(&rng, 256);
}

SrImage fixture_image(SrImagePool *pool, int h, int w, uint64_t seed) {
    SrImage image;
    CHECK_OK(sr_image_new(pool, h, w, &image));
    fixture_noise(image.rgb, (size_t)h * (size_t)w * 3, seed);
    return image;
}

SrImage fixture_gradient(SrImagePool *pool, int h, int w) {
    SrImage image;
    CHECK_OK(sr_image_new(pool, h, w, &image));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            uint8_t *p = image.rgb + ((size_t)y * (size_t)w + (size_t)x) * 3;
            p[0] = (uint8_t)(255 * x / w);
            p[1] = (uint8_t)(255 * y / h);
            p[2] = (uint8_t)(127 * x / w + 127 * y / h);
        }
    return image;
}

void fixture_class_folder(const char *folder, const char *name, int n) {
    char path[256];
    uint8_t pixels[20 * 20 * 3];
    for (int i = 0; i < n; i++) {
        size_t bytes = 0;
        fixture_noise(pixels, sizeof pixels, (uint64_t)i);
        void *png = fixture_png(pixels, 20, 20, 3, &bytes);
        snprintf(path, sizeof path, "%s/%c/%02d.png", name, i % 2 ? 'x' : 'y', i);
        fixture_write(folder, path, png, bytes);
        free(png);
    }
}

char *fixture_read(const char *folder, const char *name, size_t *n) {
    char path[400], *bytes;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(sr_file_read(path, 1 << 20, &bytes, n));
    return bytes;
}

void fixture_check_pixels(const SrImage *image, const char *folder, const char *stem, int levels) {
    char name[300];
    size_t n;
    int w, h, at;
    snprintf(name, sizeof name, "%.200s.ppm", stem);
    char *ppm = fixture_read(folder, name, &n);
    CHECK_INT(sscanf(ppm, "P6 %d %d 255%n", &w, &h, &at), 2);
    if (image->H != h || image->W != w)
        fail_msg("%s: %d x %d, expected %d x %d", stem, image->W, image->H, w, h);
    const uint8_t *want = (const uint8_t *)ppm + at + 1;
    for (int i = 0; i < h * w * 3; i++)
        if (abs(image->rgb[i] - want[i]) > levels)
            fail_msg("%s: sample %d is %d, expected %d", stem, i, image->rgb[i], want[i]);
    sr_free(ppm);
}

static SrStatus decode(const char *file, size_t n, int channels, SrImagePool *pool, SrImage *out) {
    SR_TRY(sr_image_open(file, n, out));
    out->channels = channels;
    return sr_image_finish(out, 1, pool);
}

void fixture_check_damaged(const char *file, size_t n, size_t from, int most, int rounds,
                           uint64_t seed) {
    fixture_check_damaged_floats(file, n, 0, from, most, rounds, seed);
}

void fixture_check_damaged_floats(const char *file, size_t n, int channels, size_t from, int most,
                                  int rounds, uint64_t seed) {
    enum { USED = 1 << 18 }; // bytes of the second pool that hold old content
    SrImagePool *pool, *other;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(sr_image_pool_new(&other));
    char *copy = sr_alloc(n);
    CHECK(copy != NULL);
    for (uint64_t round = 0; round < (uint64_t)rounds; round++) {
        SrRng rng = sr_rng(seed, SR_RNG_TEST, round, 0, 0, 0);
        SrImage a, b;
        memcpy(copy, file, n);
        for (uint32_t k = 1 + sr_rng_below(&rng, (uint32_t)most); k > 0; k--)
            copy[from + sr_rng_below(&rng, (uint32_t)(n - from))] = (char)sr_rng_u32(&rng);
        sr_image_pool_reset(pool);
        memset(sr_image_pool_take(other, USED), (int)round, USED);
        sr_image_pool_reset(other);
        SrStatus first = decode(copy, n, channels, pool, &a);
        CHECK_INT(first, decode(copy, n, channels, other, &b));
        CHECK(first == SR_OK || first == SR_ERR_IO);
        if (first == SR_OK)
            CHECK(a.H == b.H && a.W == b.W &&
                  memcmp(channels ? (void *)a.f : a.rgb, channels ? (void *)b.f : b.rgb,
                         sr_image_samples(&a) * (channels ? sizeof *a.f : 1)) == 0);
    }
    sr_free(copy);
    sr_image_pool_free(pool);
    sr_image_pool_free(other);
}

static bool has_pillow(void) { return system("/usr/bin/python3 -c 'import PIL' 2>/dev/null") == 0; }

int fixture_pillow(const char *script, const char *folder) {
    char line[512];
    snprintf(line, sizeof line, "/usr/bin/python3 -B tests/data/%s %s", script, folder);
    return has_pillow() ? system(line) : 0;
}

void fixture_need_pillow(void) {
    if (!has_pillow())
        SKIP("/usr/bin/python3 has no Pillow", "apt-get install python3-pil");
}
