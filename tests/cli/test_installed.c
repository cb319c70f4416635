// Tests a build and an installation: configurations are found from any folder, a running program
// can be replaced, and the Python module finds its library.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static int shell(const char *dir, const char *format) {
    char self[PROGRAM_SELF], command[8192];
    program_folder(self);
    snprintf(command, sizeof command, "D='%s' BUILD='%s'; %s", dir, self, format);
    return system(command);
}

TEST(test_configurations) {
    char dir[64];
    if (!sr_file_exists("/usr/share/datasets/fashion-mnist"))
        SKIP("Fashion-MNIST is not installed", "apt-get install dataset-fashion-mnist");
    temp_dir_make(dir);
    CHECK_INT(shell(dir, "mkdir -p $D/bin $D/share/sslrun && cp $BUILD/sslrun $D/bin && "
                         "cp -r configs $D/share/sslrun"),
              0);
    CHECK_INT(shell(dir, "cd / && $D/bin/sslrun check configs/swav.yaml >$D/o 2>&1"), 0);
    CHECK_INT(shell(dir, "cd / && $D/bin/sslrun check swav >$D/o 2>&1"), 0);
    CHECK_INT(shell(dir, "cd / && $D/bin/sslrun check swaw 2>&1 | grep -q \"did you mean 'swav'\""),
              0);
    temp_dir_remove(dir);
}

// The Makefile's rules replace the program and the library while they run, in a tree of two built
// files.
TEST(test_make_while_it_runs) {
    char dir[64];
    temp_dir_make(dir);
    CHECK_INT(shell(dir, "mkdir -p $D/build/cli && cp --parents Makefile install.mk */*.mk "
                         "tests/fuzz/*.mk $D && cd $D && "
                         "touch build/cli/main.o build/libsslrun.a && sleep 0.01 && "
                         "cp $(command -v sleep) sslrun && { ./sslrun 60 & } && "
                         "p=$! && cp sslrun build/sslrun && echo more >>build/sslrun && "
                         "make -s ISAS=plain sslrun >o 2>&1; status=$?; kill $p; "
                         "[ $status = 0 ] && cmp build/sslrun sslrun && [ ! -e sslrun.new ]"),
              0);
    temp_dir_remove(dir);
}

// A cross build names its own tools.  The library's soname is the name that programs look for.
TEST(test_tools_and_soname) {
    char dir[64];
    temp_dir_make(dir);
    CHECK_INT(shell(dir,
                    "mkdir -p $D/build && cp --parents Makefile install.mk */*.mk "
                    "tests/fuzz/*.mk $D && cd $D && unset WEB MPI WEBP TIFF HEIF TURBOJPEG && "
                    "printf '#!/bin/sh\\necho \"$*\" >>calls\\nexit 1\\n' >pc && "
                    "chmod +x pc && unset MAKEFLAGS MAKELEVEL && make -n V=1 ISAS=plain "
                    "AR=other-ar PKG_CONFIG=./pc build/libsslrun.a >o 2>&1; "
                    "grep -q '^other-ar rcs build/libsslrun.a' o && grep -q 'exists ompi' calls && "
                    "grep -q 'exists libmicrohttpd' calls"),
              0);
    CHECK_INT(shell(dir, "readelf -d $BUILD/libsslrun.so.0 | grep -q "
                         "'SONAME.*\\[libsslrun\\.so\\.0\\]'"),
              0);
    temp_dir_remove(dir);
}

// The library is found next to the module in a tree and below a prefix. Otherwise the error names
// the variable to set.
TEST(test_python_finds_its_library) {
    char dir[64];
    if (PROGRAM_SANITIZED)
        SKIP(PROGRAM_SANITIZED_REASON, NULL);
    program_need_numpy();
    temp_dir_make(dir);
#define VERSION                                                                          \
    "unset LIBSSLRUN; cd /; PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c 'import sys; " \
    "sys.path.insert(0, sys.argv[1]); import sslrun; print(sslrun.__version__)' "
    CHECK_INT(shell(dir, "mkdir -p $D/tree/python $D/to/lib $D/to/share/sslrun/python $D/none && "
                         "cp python/sslrun.py $D/tree/python && cp python/sslrun.py $D/none && "
                         "cp python/sslrun.py $D/to/share/sslrun/python && "
                         "cp $BUILD/libsslrun.so.0 $D/tree && cp $BUILD/libsslrun.so.0 $D/to/lib"),
              0);
    CHECK_INT(shell(dir, VERSION "$D/tree/python | grep -q '^[0-9]'"), 0);
    CHECK_INT(shell(dir, VERSION "$D/to/share/sslrun/python | grep -q '^[0-9]'"), 0);
    if (system("/sbin/ldconfig -p | grep -q libsslrun") != 0)
        CHECK_INT(shell(dir, VERSION "$D/none 2>&1 | grep -q 'or set LIBSSLRUN to the path'"), 0);
    temp_dir_remove(dir);
}

SR_TESTS(installed, unit(test_configurations), unit(test_make_while_it_runs),
         unit(test_tools_and_soname), unit(test_python_finds_its_library))
