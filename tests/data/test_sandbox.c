// Tests decoding in locked processes: the same pixels, messages and statuses as without, decoders
// that misbehave, and processes that end with their pool.
#include "data/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/decode.h"
#include "data/image_form.h"
#include "gen/build.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/skip.h"

static SrImagePool *pool;

static void need(void) {
    if (!SR_SECCOMP)
        SKIP("the build has no libseccomp", "libseccomp-dev");
    if (PROGRAM_SANITIZED) // its runtime makes system calls of its own
        SKIP(PROGRAM_SANITIZED_REASON, NULL);
    CHECK_OK(sr_sandbox_use());
    CHECK_OK(sr_image_pool_new(&pool));
}

// No process outlives its pool.
static void finish(void) {
    sr_image_pool_free(pool);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_INT(errno, ECHILD);
    sr_sandbox_leave();
}

static void check_same(const void *bytes, size_t n, int channels, int reduce) {
    SrImagePool *here;
    SrImage a, b;
    CHECK_OK(sr_image_pool_new(&here));
    CHECK_OK(sr_image_open(bytes, n, &a));
    b = a;
    a.channels = b.channels = channels;
    sr_sandbox_leave();
    SrStatus plain = sr_image_finish(&a, reduce, here);
    char message[512];
    snprintf(message, sizeof message, "%s", plain == SR_OK ? "" : sr_status_message());
    CHECK_OK(sr_sandbox_use());
    CHECK_INT(sr_image_finish(&b, reduce, pool), plain);
    if (plain == SR_OK) {
        CHECK(a.H == b.H && a.W == b.W && a.channels == b.channels && !b.encoded);
        size_t size = sr_image_samples(&a) * (channels ? sizeof(float) : 1);
        CHECK(memcmp(channels ? (void *)a.f : a.rgb, channels ? (void *)b.f : b.rgb, size) == 0);
    } else {
        CHECK_STR(sr_status_message(), message);
    }
    sr_image_pool_free(here);
}

TEST(test_same_pixels) {
    enum { H = 150, W = 201 };
    uint8_t pixels[H * W * 3];
    size_t n;
    need();
    fixture_noise(pixels, sizeof pixels, 3);
    uint8_t *png = fixture_png(pixels, H, W, 3, &n);
    check_same(png, n, 0, 1);
    check_same(png, n, 3, 1);
    check_same(png, n, 5, 1); // floats of another number of channels: the same refusal
    memset(png + n / 2, 0, 40);
    check_same(png, n, 0, 1);
    sr_free(png);
    uint8_t *jpeg = fixture_jpeg(pixels, H, W, 3, &n);
    for (int reduce = 1; reduce <= 8; reduce *= 2)
        check_same(jpeg, n, 0, reduce);
    memset(jpeg + n / 2, 0, 40);
    check_same(jpeg, n, 0, 1);
    sr_free(jpeg);
    for (int i = 0; i < 300; i++) // sizes of all kinds reuse one process
        sr_image_pool_reset(pool);
    finish();
}

// ---- decoders that misbehave

static SrStatus paint(SrImage *image, int reduce, SrImagePool *own) {
    (void)reduce;
    SR_TRY(sr_image_new(own, image->H, image->W, image));
    memset(image->rgb, 7, sr_image_samples(image));
    return SR_OK;
}

// Succeeds if nothing outside can be reached: files, the network, processes, descriptors other than
// the socket, and memory that can be executed.
static SrStatus reach_out(SrImage *image, int reduce, SrImagePool *own) {
    void *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool held = open("/etc/passwd", O_RDONLY) < 0 && unlink("nothing") < 0 &&
                mkdir("x", 0700) < 0 && socket(AF_INET, SOCK_STREAM, 0) < 0 && fork() < 0 &&
                kill(getppid(), 0) < 0 && execl("/bin/true", "true", NULL) < 0 &&
                code == MAP_FAILED;
    for (int fd = 1; fd < 256; fd++)
        held = held && write(fd, "x", 1) < 0;
    return held ? paint(image, reduce, own) : SR_ERR_MEMORY;
}

static SrStatus crash(SrImage *image, int reduce, SrImagePool *own) {
    (void)image, (void)reduce, (void)own;
    __builtin_trap();
}

static SrStatus claim_more(SrImage *image, int reduce, SrImagePool *own) {
    SR_TRY(paint(image, reduce, own));
    image->H += 1000;
    return SR_OK;
}

static SrStatus claim_status(SrImage *image, int reduce, SrImagePool *own) {
    (void)image, (void)reduce, (void)own;
    return (SrStatus)77;
}

static SrStatus ask(SrDecode decode) {
    static const uint8_t file[100];
    SrImage image = {.H = 20, .W = 30, .encoded = file, .encoded_bytes = sizeof file};
    SrStatus status = sr__sandbox_decode(decode, &image, 1, pool);
    if (status == SR_OK)
        CHECK(image.rgb[0] == 7 && image.rgb[20 * 30 * 3 - 1] == 7);
    return status;
}

TEST(test_nothing_can_be_reached) {
    need();
    CHECK_OK(ask(reach_out));
    finish();
}

// Only the image of a decoder that ends is bad.
TEST(test_decoders_that_misbehave) {
    static const SrDecode ended[] = {crash, claim_more, claim_status};
    need();
    for (int i = 0; i < SR_COUNT(ended); i++) {
        sr_image_pool_free(pool); // the decoder belongs to the process
        CHECK_OK(sr_image_pool_new(&pool));
        CHECK_FAILS(ask(ended[i]), SR_ERR_IO, "its decoder ended by signal");
        CHECK_OK(ask(paint)); // in a new process
        CHECK_OK(ask(paint));
    }
    finish();
}

// The system's shortage of memory is no fault of an image.
TEST(test_a_killed_decoder) {
    need();
    CHECK_OK(ask(paint));
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "r");
    CHECK(children != NULL && fscanf(children, "%d", &child) == 1);
    fclose(children);
    CHECK_INT(kill(child, SIGKILL), 0);
    CHECK_FAILS(ask(paint), SR_ERR_MEMORY, "the system ended a decoder");
    CHECK_OK(ask(paint));
    finish();
}

TEST(test_a_build_without) {
    if (SR_SECCOMP) {
        CHECK_STR(sr_sandbox_name(), "libseccomp");
        return;
    }
    CHECK_FAILS(sr_sandbox_use(), SR_ERR_CONFIG, "install libseccomp-dev and build again");
    CHECK(!sr_sandbox_used());
}

SR_TESTS(sandbox, unit(test_same_pixels), unit(test_nothing_can_be_reached),
         unit(test_decoders_that_misbehave), unit(test_a_killed_decoder),
         unit(test_a_build_without))
