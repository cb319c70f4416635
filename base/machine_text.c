// Host name, processor and number of cores in one line.
#include "base/machine_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Reads the processor's name from /proc/cpuinfo; "" on systems that give none.
static void processor(char *out, size_t bytes) {
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    out[0] = '\0';
    while (f && !*out && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        line[strcspn(line, "\n")] = '\0';
        if (colon && strncmp(line, "model name", 10) == 0)
            snprintf(out, bytes, "%s", colon + 1 + strspn(colon + 1, " "));
    }
    if (f)
        fclose(f);
}

const char *sr_machine_text(char *out, size_t bytes) {
    char host[128] = "", cpu[128];
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    processor(cpu, sizeof cpu);
    snprintf(out, bytes, "%s%s%s%s%ld cores", host, *host ? ", " : "", cpu, *cpu ? ", " : "",
             sysconf(_SC_NPROCESSORS_ONLN));
    return out;
}
