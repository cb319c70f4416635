// Keeps the names in static memory, where a signal handler may read them at any time.
#include "base/temporary.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 16, PATH_BYTES = 4096 };

// A slot goes from FREE to TAKEN while its name is copied, and is read when it is READY.
enum { FREE, TAKEN, READY };

static struct {
    atomic_int state;
    char path[PATH_BYTES];
} slots[SLOTS];

void sr_temporary_add(const char *path) {
    size_t bytes = strlen(path) + 1;
    for (int i = 0; bytes <= PATH_BYTES && i < SLOTS; i++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&slots[i].state, &expected, TAKEN))
            continue;
        memcpy(slots[i].path, path, bytes);
        atomic_store(&slots[i].state, READY);
        return;
    }
}

void sr_temporary_remove(const char *path) {
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&slots[i].state) == READY && strcmp(slots[i].path, path) == 0) {
            atomic_store(&slots[i].state, FREE);
            return;
        }
}

void sr_temporary_unlink_all(void) {
    int before = errno;
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&slots[i].state) == READY)
            unlink(slots[i].path);
    errno = before;
}
