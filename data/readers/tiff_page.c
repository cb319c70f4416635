// Walks along the directories of a TIFF (TIFF 6.0, section 2; BigTIFF).  Each holds the number of
// its entries, the entries, and the offset of the next directory.
#include "data/readers/tiff_page.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"

enum { MOST_PAGES = 99999 };

size_t sr__tiff_page_split(const char *path, int *page) {
    const char *mark = strrchr(path, '#');
    int n = 0;
    if (!mark || !mark[1] || mark - path < 5)
        return 0;
    if (strncasecmp(mark - 4, ".tif", 4) != 0 && strncasecmp(mark - 5, ".tiff", 5) != 0)
        return 0;
    for (const char *p = mark + 1; *p; p++) {
        if (*p < '0' || *p > '9' || n > MOST_PAGES / 10)
            return 0;
        n = 10 * n + (*p - '0');
    }
    *page = n;
    return n > 0 ? (size_t)(mark - path) : 0;
}

typedef struct {
    uint8_t *p;
    size_t n;
    bool most_first; // the most significant byte comes first
    int offset;      // bytes of an offset: 4, or 8 in BigTIFF
} File;

static uint64_t number_at(const File *f, size_t at, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v = v << 8 | f->p[at + (size_t)(f->most_first ? i : bytes - 1 - i)];
    return v;
}

// Gives the place in the file that holds the offset of the directory after the one at `at`.
// Returns false if the file ends before.  at: within the file.
static bool next_place(const File *f, uint64_t at, size_t *out) {
    int count = f->offset == 8 ? 8 : 2;
    uint64_t entry = f->offset == 8 ? 20 : 12;
    SR_ASSERT(at > 0 && at < f->n);
    if (f->n - at < (uint64_t)count)
        return false;
    uint64_t entries = number_at(f, (size_t)at, count);
    if (entries > (f->n - at) / entry)
        return false;
    at += (uint64_t)count + entries * entry;
    *out = (size_t)at;
    return at <= f->n && f->n - at >= (uint64_t)f->offset;
}

SrStatus sr__tiff_page_choose(uint8_t *bytes, size_t n, int page) {
    File f = {.p = bytes, .n = n, .offset = 4};
    if (n < 8 || (memcmp(bytes, "II", 2) != 0 && memcmp(bytes, "MM", 2) != 0))
        return SR_OK;
    f.most_first = bytes[0] == 'M';
    uint64_t version = number_at(&f, 2, 2);
    if ((version != 42 && version != 43) || (version == 43 && n < 16))
        return SR_OK;
    f.offset = version == 43 ? 8 : 4;
    const size_t first = version == 43 ? 8 : 4;
    size_t place = first;
    for (int i = 1; i <= page; i++) {
        uint64_t at = number_at(&f, place, f.offset);
        if (at == 0 || at >= n)
            SR_FAIL(SR_ERR_IO, "the TIFF has %d page%s, and page %d was asked for", i - 1,
                    i == 2 ? "" : "s", page);
        if (i == page)
            break;
        if (!next_place(&f, at, &place))
            SR_FAIL(SR_ERR_IO, "the TIFF is damaged after its page %d", i);
    }
    memmove(bytes + first, bytes + place, (size_t)f.offset);
    return SR_OK;
}
