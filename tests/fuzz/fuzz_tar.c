// Fuzz target of libFuzzer: arbitrary bytes as a tar archive are refused in one line or walked
// through, and every member lies within the file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/sets/shard_index.h"
#include "data/sets/tar_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "%s: %s\n", what, sr_status_message());
    abort();
}

// Repairs the checksums of headers; otherwise hardly an input would pass its first header.
static void mend(uint8_t *p, size_t bytes) {
    for (; bytes >= SR_TAR_BLOCK; p += SR_TAR_BLOCK, bytes -= SR_TAR_BLOCK) {
        unsigned sum = 8 * ' ';
        if (memcmp(p + 257, "ustar", 5) != 0)
            continue;
        for (int i = 0; i < SR_TAR_BLOCK; i++)
            sum += i >= 148 && i < 156 ? 0 : p[i];
        snprintf((char *)p + 148, 8, "%06o", sum & 0777777);
    }
}

static void walk(int fd, size_t bytes) {
    static SrTarMember m;
    SrTar tar = {.fd = fd, .path = "fuzz", .size = bytes};
    for (bool end = false; !end;) {
        uint64_t at = tar.at;
        SrStatus status = sr__tar_next(&tar, &m, &end);
        if (status != SR_OK) {
            require(*sr_status_message() && !strchr(sr_status_message(), '\n'), "not one line");
            return;
        }
        require(end || (m.offset <= bytes && m.size <= bytes - m.offset), "beyond the file");
        require(end || tar.at > at, "no progress");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char path[64];
    SrShardIndex index;
    uint8_t *copy = malloc(bytes + 1);
    int fd = memfd_create("fuzz", 0);
    require(fd >= 0 && copy, "no file");
    memcpy(copy, data, bytes);
    mend(copy, bytes);
    require(write(fd, copy, bytes) == (ssize_t)bytes, "no file");
    walk(fd, bytes);
    // The data set reads labels and names; its index cannot be written there.
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sr__shard_index_open(path, &index) == SR_OK) {
        const SrShardEntry *e;
        for (int64_t i = 0; i < index.n; i++)
            require(sr__shard_index_entry(&index, i, &e) == SR_OK, "an entry beyond its shard");
        sr__shard_index_close(&index);
    }
    close(fd);
    free(copy);
    return 0;
}
