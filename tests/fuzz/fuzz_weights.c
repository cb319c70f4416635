// libFuzzer over every reader of weights: safetensors, pickle and zip, npz, npy, told apart by
// content as in the program.  make fuzz; the seeds are tests/formats/files.
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/naming.h"
#include "formats/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char path[64];
    SrWeights w;
    SrNaming naming;
    SrTensor t;
    int fd = memfd_create("fuzz", MFD_CLOEXEC), checked;
    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sr_weights_open(&w, path) == SR_OK) {
        sr_naming_detect(&w, &naming);
        (void)sr_weights_verify(&w, &checked);
        for (int i = 0; i < w.n && i < 64; i++)
            (void)sr_weights_read(&w, i, &t);
        sr_weights_close(&w);
    }
    close(fd);
    return 0;
}
