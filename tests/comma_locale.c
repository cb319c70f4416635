// Sets a locale with a decimal comma; localedef compiles it and LOCPATH finds it
// (comma_locale.h).
#include "tests/comma_locale.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/check.h"
#include "tests/temp_dir.h"

#define NAME "de_DE.UTF-8"

void comma_locale_set(void) {
    char dir[64], command[256];
    if (!setlocale(LC_NUMERIC, NAME)) {
        temp_dir_make(dir);
        snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/" NAME " >/dev/null 2>&1",
                 dir);
        int made = system(command);
        setenv("LOCPATH", dir, 1);
        const char *set = made == 0 ? setlocale(LC_NUMERIC, NAME) : NULL;
        unsetenv("LOCPATH");
        temp_dir_remove(dir);
        if (!set)
            SKIP("there is no locale with a decimal comma", "apt-get install locales");
    }
    CHECK_STR(localeconv()->decimal_point, ",");
}
