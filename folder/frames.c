// Runs ffmpeg, reads PPM pictures from its pipe, and writes those that differ.
#include "folder/frames.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text/number.h"
#include "base/text/text.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "folder/picture_facts.h"

extern char **environ;

enum { PATH_BYTES = 4096, QUALITY = 95, MOST_SIDE = 65500 };

typedef struct {
    const SrFramesOptions *o;
    char stem[256]; // name of the film without its ending
    SrImagePool *pool;
    SrText encoded;
    FILE *pipe;
    pid_t ffmpeg;
    uint64_t last; // shape hash of the last picture kept
    SrFramesResult *result;
} Frames;

// ---- ffmpeg

// Makes the pipe the output of ffmpeg.  Returns an error number, or 0.
static int redirect(posix_spawn_file_actions_t *actions, const int ends[2]) {
    int failed = posix_spawn_file_actions_adddup2(actions, ends[1], 1);
    for (int i = 0; i < 2 && !failed; i++)
        failed = posix_spawn_file_actions_addclose(actions, ends[i]);
    return failed;
}

// Starts ffmpeg with its output in a pipe.  "file:" keeps names from being read as addresses.
static SrStatus start_ffmpeg(Frames *f, const char *film) {
    char input[PATH_BYTES + 8], filter[64];
    int ends[2];
    posix_spawn_file_actions_t actions;
    snprintf(input, sizeof input, "file:%s", film);
    sr_number_print(filter, sizeof filter, f->o->rate > 0 ? "fps=%.6g" : "null", f->o->rate);
    char *const words[] = {"ffmpeg",   "-nostdin", "-v", "error",      "-i",   input,
                           "-vf",      filter,     "-f", "image2pipe", "-c:v", "ppm",
                           "-pix_fmt", "rgb24",    "-",  NULL};
    if (pipe(ends) != 0)
        SR_FAIL(SR_ERR_RUN, "cannot make a pipe for ffmpeg: %s", strerror(errno));
    int failed = posix_spawn_file_actions_init(&actions);
    if (!failed) {
        failed = redirect(&actions, ends);
        if (!failed)
            failed = posix_spawnp(&f->ffmpeg, "ffmpeg", &actions, NULL, words, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        f->ffmpeg = 0;
        if (failed == ENOENT)
            SR_FAIL(SR_ERR_RUN, "sslrun frames needs ffmpeg, which is not installed; as root: "
                                "apt-get install ffmpeg");
        SR_FAIL(SR_ERR_RUN, "cannot start ffmpeg: %s", strerror(failed));
    }
    f->pipe = fdopen(ends[0], "rb");
    if (f->pipe)
        return SR_OK;
    close(ends[0]);
    SR_FAIL(SR_ERR_MEMORY, "out of memory reading from ffmpeg");
}

// Ends ffmpeg.  whole: it has written all, so that its exit code tells whether the film was good.
static SrStatus end_ffmpeg(Frames *f, const char *film, bool whole) {
    int code = 0;
    if (f->pipe)
        fclose(f->pipe);
    if (f->ffmpeg <= 0)
        return SR_OK;
    if (!whole)
        kill(f->ffmpeg, SIGTERM);
    while (waitpid(f->ffmpeg, &code, 0) < 0 && errno == EINTR)
        ;
    if (whole && code != 0)
        SR_FAIL(SR_ERR_IO, "ffmpeg cannot read %s to its end; its message stands above", film);
    return SR_OK;
}

// ---- pictures

// Reads one picture.  *end: the pipe ended between two pictures.
static SrStatus read_picture(Frames *f, SrImage *image, bool *end) {
    int w = 0, h = 0, white = 0, magic = getc(f->pipe);
    char blank = 0;
    *end = magic == EOF;
    if (*end)
        return SR_OK;
    if (magic != 'P' || fscanf(f->pipe, "6 %9d %9d %9d%c", &w, &h, &white, &blank) != 4 ||
        white != 255 || w < 1 || h < 1 || w > MOST_SIDE || h > MOST_SIDE)
        SR_FAIL(SR_ERR_IO, "ffmpeg wrote a picture without a PPM header after %lld pictures",
                (long long)f->result->seen);
    sr_image_pool_reset(f->pool);
    SR_TRY(sr_image_new(f->pool, h, w, image));
    size_t bytes = (size_t)h * (size_t)w * 3;
    if (fread(image->rgb, 1, bytes, f->pipe) != bytes)
        SR_FAIL(SR_ERR_IO, "ffmpeg's picture %lld is cut off", (long long)f->result->seen + 1);
    return SR_OK;
}

static SrStatus write_picture(Frames *f, const SrImage *image) {
    char path[PATH_BYTES], name[320];
    snprintf(name, sizeof name, "%s-%08lld.%s", f->stem, (long long)f->result->seen,
             f->o->png ? "png" : "jpg");
    SR_TRY(sr_file_join(path, sizeof path, f->o->out, name));
    f->encoded.len = 0;
    if (f->o->png)
        sr_png_encode(image->rgb, image->H, image->W, &f->encoded);
    else
        sr_jpeg_encode(image->rgb, image->H, image->W, QUALITY, &f->encoded);
    return sr_file_write_text(path, &f->encoded);
}

static int different_bits(uint64_t a, uint64_t b) {
    int n = 0;
    for (uint64_t d = a ^ b; d; d &= d - 1)
        n++;
    return n;
}

static SrStatus take_picture(Frames *f, const SrImage *image) {
    uint64_t hash;
    f->result->seen++;
    SR_TRY(sr_picture_shape_hash(image, f->pool, &hash));
    if (f->result->kept && different_bits(hash, f->last) <= f->o->near)
        return SR_OK;
    f->last = hash;
    f->result->kept++;
    return write_picture(f, image);
}

static SrStatus take_all(Frames *f) {
    SrImage image;
    for (bool end = false;;) {
        SR_TRY(read_picture(f, &image, &end));
        if (end)
            return SR_OK;
        SR_TRY(take_picture(f, &image));
    }
}

// ---- the film

static SrStatus name_pictures(Frames *f, const char *film) {
    const char *slash = strrchr(film, '/'), *name = slash ? slash + 1 : film;
    const char *dot = strrchr(name, '.');
    size_t len = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    if (len >= sizeof f->stem - 20)
        SR_FAIL(SR_ERR_CONFIG, "%s: the name is too long for names of pictures", film);
    snprintf(f->stem, sizeof f->stem, "%.*s", (int)len, name);
    return SR_OK;
}

// Refuses to mix the pictures with older ones of the same name.
static SrStatus check_folder(const Frames *f) {
    char **names;
    int n;
    bool found = false;
    SR_TRY(sr_file_mkdirs(f->o->out));
    SR_TRY(sr_file_list(f->o->out, &names, &n));
    size_t len = strlen(f->stem);
    for (int i = 0; i < n; i++)
        found |=
            strncmp(names[i], f->stem, len) == 0 && sr_text_glob("-????????.*", names[i] + len);
    sr_file_list_free(names, n);
    if (found)
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds pictures %s-... already; give another --out, or remove "
                "them",
                f->o->out, f->stem);
    return SR_OK;
}

static SrStatus take(Frames *f, const char *film) {
    SR_TRY(sr_file_check_readable(film));
    SR_TRY(name_pictures(f, film));
    SR_TRY(check_folder(f));
    SR_TRY(sr_image_pool_new(&f->pool));
    SrStatus status = start_ffmpeg(f, film);
    if (status == SR_OK)
        status = take_all(f);
    SrStatus ended = end_ffmpeg(f, film, status == SR_OK);
    return status == SR_OK ? ended : status;
}

SrStatus sr_frames_take(const char *film, const SrFramesOptions *options, SrFramesResult *out) {
    *out = (SrFramesResult){.seen = 0};
    Frames f = {.o = options, .result = out};
    SrStatus status = take(&f, film);
    sr_image_pool_free(f.pool);
    sr_text_deinit(&f.encoded);
    return status;
}
