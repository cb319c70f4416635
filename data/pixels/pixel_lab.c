// Converts RGB to CIE LAB as OpenCV does for 8-bit images (class RGB2Lab_b of OpenCV's imgproc): by
// tables and products in fixed point, so that every level agrees.
#include "data/pixels/pixel_lab.h"

#include <math.h>
#include <pthread.h>

#include "data/image_pool.h"

enum { XYZ_BITS = 12, GAMMA_BITS = 3, LAB_BITS = XYZ_BITS + GAMMA_BITS };
enum { CUBE_ROOTS = 256 * 3 / 2 * (1 << GAMMA_BITS) };

static uint16_t gamma_table[256], cube_root[CUBE_ROOTS];
static int to_xyz[3][3]; // rows X, Y, Z over the white point; columns R, G, B

static void fill_tables(void) {
    static const double xyz[3][3] = {{0.412453, 0.357580, 0.180423},
                                     {0.212671, 0.715160, 0.072169},
                                     {0.019334, 0.119193, 0.950227}},
                        white[3] = {0.950456, 1, 1.088754};
    const double full = 255 * (1 << GAMMA_BITS);
    for (int i = 0; i < 256; i++) {
        double x = i / 255.0;
        gamma_table[i] =
            (uint16_t)lrint(full * (x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4)));
    }
    for (int i = 0; i < CUBE_ROOTS; i++) {
        double x = i / full, f = x < 216.0 / 24389 ? x * (841.0 / 108) + 16.0 / 116 : cbrt(x);
        cube_root[i] = (uint16_t)lrint((1 << LAB_BITS) * f);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            to_xyz[i][j] = (int)lrint((1 << XYZ_BITS) * xyz[i][j] / white[i]);
}

static int descale(int x, int bits) { return (x + (1 << (bits - 1))) >> bits; }

static int level(int x) { return x < 0 ? 0 : x > 255 ? 255 : x; }

static void pixel(const uint8_t *rgb, float *lab) {
    const int l_scale = (116 * 255 + 50) / 100,
              l_shift = -((16 * 255 * (1 << LAB_BITS) + 50) / 100), middle = 128 << LAB_BITS;
    int f[3];
    for (int i = 0; i < 3; i++) {
        int sum = 0;
        for (int j = 0; j < 3; j++)
            sum += gamma_table[rgb[j]] * to_xyz[i][j];
        f[i] = cube_root[descale(sum, XYZ_BITS)];
    }
    int l = level(descale(l_scale * f[1] + l_shift, LAB_BITS));
    int a = level(descale(500 * (f[0] - f[1]) + middle, LAB_BITS));
    int b = level(descale(200 * (f[1] - f[2]) + middle, LAB_BITS));
    lab[0] = (float)l * (100.0f / 255.0f) - 50.0f;
    lab[1] = (float)(a - 128);
    lab[2] = (float)(b - 128);
}

SrStatus sr_pixel_to_lab(SrImage *image, SrImagePool *pool) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t n = (size_t)image->H * (size_t)image->W;
    float *out = sr_image_pool_take(pool, n * 3 * sizeof *out);
    SR_TRY_MEMORY(out, "an image of %d x %d floats", image->H, image->W);
    pthread_once(&once, fill_tables);
    for (size_t i = 0; i < n; i++)
        pixel(image->rgb + 3 * i, out + 3 * i);
    image->f = out;
    image->rgb = NULL;
    return SR_OK;
}
