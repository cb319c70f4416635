# Builds sslrun. `make run` and `make test` do everything on a fresh Debian machine; `make help` lists the rest.
# Jobs run on all cores unless the caller sets a number. Only the outermost make may set it, or the job server is lost.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --jobs=$(shell nproc)
endif
# A cross build sets CC, AR and PKG_CONFIG; the instruction sets follow from the compiler.
CC ?= gcc
PKG_CONFIG ?= pkg-config
export PKG_CONFIG
BUILD ?= build
OPT ?= -O2
WARN = -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
# clang warns about a missing comma where a long string in an array is split into two literals.
# It also warns where it leaves a loop as it is that gcc unrolls; that costs speed in some instruction sets, and no result.
WARN += $(if $(findstring clang,$(CC)),-Wno-string-concatenation -Wno-pass-failed)
STRICT ?=
# Hardening flags that the compiler knows; tests/hardening.sh examines the built files. Sanitizers are built without
# them, since fortified calls hide errors from them.
ifeq ($(findstring -fsanitize,$(EXTRA)),)
HARDEN := $(shell for flag in -fstack-protector-strong -fcf-protection -mbranch-protection=standard; do \
    echo 'int one = 1;' | $(CC) -Werror $$flag -x c -c -o /dev/null - 2>/dev/null && echo $$flag; done) \
    $(if $(filter -O0,$(OPT) $(EXTRA)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN_LINK = -Wl,-z,relro,-z,now
endif
# Symbols are hidden by default, so that the shared library exports only what sslrun.h declares.
FLAGS = -std=c17 $(OPT) -g $(WARN) -D_GNU_SOURCE -I. -I$(BUILD) -fopenmp -fno-math-errno -fno-trapping-math \
        -ffp-contract=off -fPIC -fvisibility=hidden -MMD -MP -ffile-prefix-map=$(CURDIR)=. $(HARDEN) $(EXTRA)
CFLAGS = $(FLAGS) $(STRICT)
LDLIBS = -lopenblas -llinear -lyaml -ljansson -lz -lm -lpthread
PACKAGES = gcc libc6-dev make libopenblas-dev liblinear-dev libyaml-dev libstb-dev zlib1g-dev libjansson-dev libcmocka-dev pkg-config
# Each package enables a part that a build may lack; tests/deps.sh describes the parts.
RECOMMENDED = libturbojpeg0-dev libwebp-dev libtiff-dev libheif-dev libseccomp-dev libmicrohttpd-dev libopenmpi-dev openmpi-bin

FOLDERS = base formats kernels graph measure trunks heads losses data trainer library folder pages cli
SOURCES := $(sort $(foreach d,$(FOLDERS),$(wildcard $(addprefix $(d)/,*.c */*.c */*/*.c))))
# Looks for a library: $(call library,NAME,HEADER,CALL,LIBRARY,FILE). If a program that uses CALL links, NAME is yes, and the
# build links with LIBRARY; otherwise it leaves FILE out. The user may set NAME to yes or no instead.
define library
ifeq ($$(origin $(1)),undefined)
LOOKED_FOR += $(1)
$(1) := $$(shell printf '\043include <$(2)>\nint main(void) { return !$(3)(); }' | \
    $$(CC) -x c - -l$(4) -o /dev/null 2>/dev/null && echo yes || echo no)
endif
export $(1)
ifeq ($$($(1)),yes)
LDLIBS += -l$(4)
else
SOURCES := $$(filter-out $(5),$$(SOURCES))
endif
endef
# libjpeg-turbo (libturbojpeg0-dev) reads JPEG; without it stb_image does.
$(eval $(call library,TURBOJPEG,turbojpeg.h,tjInitDecompress,turbojpeg,data/jpeg_turbo.c))
# libwebp (libwebp-dev) reads WebP, libtiff (libtiff-dev, 4.5 or later) TIFF, libheif (libheif-dev) HEIC and AVIF; without
# them these files are skipped.
$(eval $(call library,WEBP,webp/decode.h,WebPGetDecoderVersion,webp,data/webp.c))
$(eval $(call library,TIFF,tiffio.h,TIFFOpenOptionsAlloc,tiff,data/readers/tiff.c))
$(eval $(call library,HEIF,libheif/heif.h,heif_context_alloc,heif,data/readers/heif.c))
# libseccomp (libseccomp-dev) locks the processes that decode under DATA.SANDBOX.
$(eval $(call library,SECCOMP,seccomp.h,seccomp_api_get,seccomp,data/sandbox_lock.c))
# libmicrohttpd (libmicrohttpd-dev) serves `sslrun web` if it is installed. WEB=no builds without the verb.
ifeq ($(origin WEB),undefined)
LOOKED_FOR += WEB
WEB := $(shell $(PKG_CONFIG) --exists libmicrohttpd 2>/dev/null && echo yes || echo no)
endif
export WEB
ifeq ($(WEB),yes)
LDLIBS += $(shell $(PKG_CONFIG) --libs libmicrohttpd)
SOURCES := $(filter-out pages/web/web_none.c,$(SOURCES))
else
SOURCES := $(filter-out pages/web/web_server.c,$(SOURCES))
endif
# Open MPI (libopenmpi-dev) runs a step on several machines if it is installed. MPI=no builds for one process.
ifeq ($(origin MPI),undefined)
LOOKED_FOR += MPI
MPI := $(shell $(PKG_CONFIG) --exists ompi 2>/dev/null && echo yes || echo no)
endif
export MPI
ifeq ($(MPI),yes)
LINK_MPI = $(shell $(PKG_CONFIG) --libs ompi)
$(BUILD)/base/ranks/comm_mpi.o: override EXTRA += $(shell $(PKG_CONFIG) --cflags-only-I ompi)
else
SOURCES := $(filter-out base/ranks/comm_mpi.c,$(SOURCES))
endif
# Runs make once more without the results of the searches above, since packages that were just installed may enable more
# parts.
LOOK_AGAIN = env $(LOOKED_FOR:%=-u %) $(MAKE) --no-print-directory
# Packages of the parts that this build lacks without the user having asked for that.
lack = $(if $(filter $(1),$(LOOKED_FOR)),$(if $(filter yes,$($(1))),,$(2)))
LACKS = $(call lack,TURBOJPEG,libturbojpeg0-dev) $(call lack,WEBP,libwebp-dev) $(call lack,TIFF,libtiff-dev) \
        $(call lack,HEIF,libheif-dev) $(call lack,SECCOMP,libseccomp-dev) $(call lack,WEB,libmicrohttpd-dev) \
        $(call lack,MPI,libopenmpi-dev openmpi-bin)
HEADERS := $(sort $(foreach d,$(FOLDERS),$(wildcard $(addprefix $(d)/,*.h */*.h */*/*.h))))
# A file *_simd.c is written once, in plain loops or vector templates, and compiled for each instruction set.
SIMD   := $(filter %_simd.c,$(SOURCES))
# A file *_amx.c is compiled twice: for tile registers, and with plain C in place of their instructions
# (kernels/core/tiles.h).
AMX    := $(filter %_amx.c,$(SOURCES))
PLAIN  := $(filter-out %_simd.c %_amx.c cli/main.c,$(SOURCES))
ARCH   := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
ifeq ($(ARCH),x86_64)
ISAS = plain avx2 avx512
PAIR_ISA = avx512bf16
AMX_ISAS = emulated amx
endif
ifeq ($(ARCH),aarch64)
ISAS = plain neon
PAIR_ISA = neonbf16
endif
ISAS ?= plain
AMX_ISAS ?= emulated
# Every aarch64 processor multiplies and adds in one instruction; an x86-64 of the plain level does not.
ISA_plain = $(if $(filter aarch64,$(ARCH)),-ffp-contract=fast)
# gcc 12 would load all operands of a tile before it multiplies, and then keep two of 24 sums in memory.
ISA_neon   = -ffp-contract=fast $(if $(findstring clang,$(CC)),,-fno-schedule-insns)
ISA_avx2   = -mavx2 -mfma -mf16c -ffp-contract=fast
# Files with products of bfloat16 pairs are also compiled for processors that have these instructions.
ISA_neonbf16 = $(ISA_neon) -march=armv8.2-a+bf16
ISA_avx512bf16 = $(ISA_avx512) -mavx512bf16
ISA_emulated =
ISA_amx = $(ISA_avx512bf16) -mamx-tile -mamx-bf16 -ffp-contract=off
ISA_avx512 = -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -mprefer-vector-width=512 -ffp-contract=fast
ifneq ($(filter avx512 neon,$(ISAS)),)
BF16   := kernels/conv/conv_tile_simd.c kernels/core/block_product_simd.c kernels/core/rows_simd.c \
          kernels/activation/pointwise_simd.c kernels/norm/batch_norm_simd.c kernels/norm/gated_norm_simd.c kernels/norm/layer_norm_simd.c \
          kernels/pool/pool2d_simd.c kernels/basic/mix_halves_simd.c kernels/attention/attention_whole_simd.c
endif
OBJECTS := $(PLAIN:%.c=$(BUILD)/%.o) $(foreach isa,$(ISAS),$(SIMD:%.c=$(BUILD)/%.$(isa).o)) \
           $(BF16:%.c=$(BUILD)/%.$(PAIR_ISA).o) $(foreach isa,$(AMX_ISAS),$(AMX:%.c=$(BUILD)/%.$(isa).o))
TESTS   := $(filter-out tests/fuzz/fuzz_% tests/faults/% tests/torture/% tests/histories/%,$(sort $(wildcard tests/*.c) $(wildcard tests/*/*.c)))
TESTOBJ := $(filter-out $(BUILD)/tests/golden/%,$(TESTS:%.c=$(BUILD)/%.o))
GOLDOBJ := $(filter $(BUILD)/tests/golden/%,$(TESTS:%.c=$(BUILD)/%.o))
KINDS = op trunk head loss dataset transform collator optimizer schedule meter verb
DEFS  := $(KINDS:%=$(BUILD)/gen/%.def) $(BUILD)/gen/tests.def $(BUILD)/gen/golden.def $(BUILD)/gen/build.h $(BUILD)/gen/assets.h

# Each compilation prints one line; V=1 shows the commands.
Q = $(if $(V),,@)
SAY = $(if $(V),@:,@printf '  %-3s %s\n')

.PHONY: FORCE all help deps lacks test run example clean format check-format layers prose bench-conv bench-gemm bench-index scoreboard charts seeds
all: sslrun libsslrun.a libsslrun.so
	@tests/deps.sh --lacks $(LACKS)

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make            build ./sslrun, libsslrun.a and libsslrun.so; V=1 shows the commands
# Files are renamed into place, so that a running program or library keeps its old file.
PLACE = $(Q)cp $< $@.new && mv -f $@.new $@
sslrun: $(BUILD)/sslrun
	$(PLACE)
# Only the program is linked with the message-passing library (cli/main.c).
# STATIC=yes puts the libraries into it (static/static.mk).
LINK_KIND = -pie
include static/static.mk
$(BUILD)/sslrun: $(BUILD)/cli/main.o $(BUILD)/libsslrun.a $(STATIC_PARTS)
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) $(LINK_KIND) $(HARDEN_LINK) -o $@ $(filter %.o,$^) $(BUILD)/libsslrun.a \
	    -Wl,--start-group $(LDLIBS) $(LINK_MPI) $(STATIC_LIBS) -Wl,--end-group
libsslrun.a: $(BUILD)/libsslrun.a
	$(PLACE)
$(BUILD)/libsslrun.a: $(OBJECTS)
	@rm -f $@
	$(SAY) AR $@
	$(Q)$(AR) rcs $@ $^

# The shared library serves programs that compute features or train: it has no verbs, pages or ranks. Its soname changes
# when a program that was built with an earlier sslrun.h could no longer run.
VERSION := $(shell sed -n 's/.define SR_VERSION "\(.*\)"/\1/p' base/version.h)
SONAME = libsslrun.so.0
SHARED = $(filter-out $(BUILD)/cli/% $(BUILD)/pages/% $(BUILD)/folder/% $(BUILD)/base/ranks/comm_mpi.o,$(OBJECTS))
$(BUILD)/$(SONAME): $(SHARED)
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) -shared $(HARDEN_LINK) -Wl,-soname,$(SONAME) $(if $(findstring sanitize,$(EXTRA)),,-Wl,-z,defs) -Wl,--as-needed -o $@ $^ $(LDLIBS)
$(BUILD)/libsslrun.so: $(BUILD)/$(SONAME)
	$(Q)ln -sf $(SONAME) $@
libsslrun.so: $(BUILD)/libsslrun.so
	$(Q)cp $(BUILD)/$(SONAME) $(SONAME).new && mv -f $(SONAME).new $(SONAME) && ln -sf $(SONAME) $@

# Objects are compiled again when the flags change, except for -Werror alone and the folder's own path.
$(BUILD)/gen/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(filter-out -ffile-prefix-map=%,$(FLAGS))' >$@.new
	@cmp -s $@.new $@ && rm $@.new || { mv $@.new $@; \
	    echo "sslrun: $(words $(OBJECTS)) files to compile, about four minutes on two cores (V=1 shows the commands)"; }

define compile_isa
$(BUILD)/%_$(2).$(1).o: %_$(2).c $(BUILD)/gen/flags | $(DEFS)
	@mkdir -p $$(@D)
	$$(SAY) CC $$@
	$$(Q)$$(CC) $$(CFLAGS) -O3 $$(ISA_$(1)) $$(SIMD_EXTRA) -DSR_ISA=$(1) -DSR_ISA_$(1)=1 -c -o $$@ $$<
endef
$(foreach isa,$(ISAS) $(PAIR_ISA),$(eval $(call compile_isa,$(isa),simd)))
$(foreach isa,$(AMX_ISAS),$(eval $(call compile_isa,$(isa),amx)))
$(BUILD)/kernels/%.o: kernels/%.c $(BUILD)/gen/flags | $(DEFS)
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(CFLAGS) -O3 -c -o $@ $<
$(BUILD)/data/pixels/%.o: data/pixels/%.c $(BUILD)/gen/flags | $(DEFS)
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(CFLAGS) -O3 -c -o $@ $<
# stb lets ints overflow and shifts into their sign bit; -fwrapv defines both to wrap, which is harmless. These flags
# are set here, outside those that gen/flags compares, so the objects depend on the Makefile.
$(BUILD)/data/decode.o $(BUILD)/data/encode.o $(BUILD)/tests/data/fixture.o: Makefile
$(BUILD)/data/decode.o $(BUILD)/data/encode.o $(BUILD)/tests/data/fixture.o: override EXTRA += -fwrapv -fno-sanitize=shift
$(BUILD)/%.o: %.c $(BUILD)/gen/flags | $(DEFS)
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<

# build.h tells the sources which libraries this build has. It is rewritten only when that changes.
$(BUILD)/gen/build.h: FORCE
	@mkdir -p $(@D)
	@echo '#define SR_TURBOJPEG $(if $(filter yes,$(TURBOJPEG)),1,0)' >$@.new
	@echo '#define SR_WEBP $(if $(filter yes,$(WEBP)),1,0)' >>$@.new
	@echo '#define SR_TIFF $(if $(filter yes,$(TIFF)),1,0)' >>$@.new
	@echo '#define SR_HEIF $(if $(filter yes,$(HEIF)),1,0)' >>$@.new
	@echo '#define SR_SECCOMP $(if $(filter yes,$(SECCOMP)),1,0)' >>$@.new
	@echo '#define SR_WEB $(if $(filter yes,$(WEB)),1,0)' >>$@.new
	@echo '#define SR_MPI $(if $(filter yes,$(MPI)),1,0)' >>$@.new
	@echo '#define SR_STATIC $(if $(filter yes,$(STATIC)),1,0)' >>$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

# Style sheets and scripts of the pages become C strings: pages/assets/page.css is asset_page_css.
ASSETS := $(sort $(wildcard pages/assets/*))
$(BUILD)/gen/assets.h: $(ASSETS) Makefile
	@mkdir -p $(@D)
	@for f in $(ASSETS); do echo "static const char asset_$$(basename $$f | tr . _)[] ="; \
	    sed 's/^ *//; s/[\\"]/\\&/g; s/.*/    "&\\n"/' $$f; echo '    ;'; done >$@

# Every line "const SrTrunk sr_trunk_resnet" in the sources becomes X(Type, trunk, resnet) in gen/trunk.def.
# base/plugin/plugin.h makes a registry of its macro SR_PLUGINS_trunk(X, Type).
define plugin_list
$(BUILD)/gen/$(1).def: $(2) Makefile
	@mkdir -p $$(@D)
	@{ echo '#define SR_PLUGINS_$(1)(X, Type) \'; sed -n '$(3)' $(2) | LC_ALL=C sort; echo; } >$$@.new
	@cmp -s $$@.new $$@ && rm $$@.new || mv $$@.new $$@
endef
descriptors = s/^const Sr[A-Za-z]* sr_$(1)_\([a-z0-9_]*\) *=.*/    X(Type, $(1), \1) \\/p
$(foreach kind,$(KINDS),$(eval $(call plugin_list,$(kind),$(SOURCES),$(call descriptors,$(kind)))))
$(eval $(call plugin_list,golden,$(TESTS),$(call descriptors,golden)))
test_groups = s/^SR_TESTS(\([a-z0-9_]*\),.*/    X(Type, tests, \1) \\/p
$(eval $(call plugin_list,tests,$(TESTS),$(test_groups)))

# A program is called example-<stem>, since build/<room> is the folder of a room's objects.
EXAMPLES = $(patsubst examples/%.c,$(BUILD)/example-%,$(wildcard examples/*.c))
# tests/cli runs the program that is next to the test binary.
$(BUILD)/run-tests: $(TESTOBJ) $(BUILD)/libsslrun.a | $(BUILD)/sslrun $(BUILD)/libsslrun.so $(BUILD)/run-golden $(BUILD)/run-histories $(BUILD)/faults.so $(BUILD)/clock.so $(EXAMPLES) seeds
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) -lcmocka
# tests/cli/test_faults.c preloads faults.so into the program, so that chosen system calls fail, and test_clock.c clock.so.
$(BUILD)/faults.so: tests/faults/preload.c
$(BUILD)/clock.so: tests/faults/clock.c
$(BUILD)/faults.so $(BUILD)/clock.so: Makefile
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(FLAGS) -fvisibility=default -shared -o $@ $(filter %.c,$^) -ldl
$(BUILD)/run-golden: $(GOLDOBJ) $(BUILD)/libsslrun.a
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

# Simulated ranks are processes of this program, and each reads its file to compare it: symbols are left out.
HISTORYOBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/histories/*.c)) tests/data/fixture.c tests/program.c \
              tests/temp_dir.c tests/skip.c)
$(BUILD)/run-histories: $(HISTORYOBJ) $(BUILD)/libsslrun.a
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) -Wl,-s -o $@ $^ $(LDLIBS) -lcmocka

# Inputs that fuzzers found: one archive per target, unpacked into $(BUILD)/seeds for fuzzers and tests.
SEEDS = $(patsubst tests/fuzz/corpus/%.tar.gz,$(BUILD)/seeds/%.unpacked,$(wildcard tests/fuzz/corpus/*.tar.gz))
seeds: $(SEEDS)
$(SEEDS): $(BUILD)/seeds/%.unpacked: tests/fuzz/corpus/%.tar.gz
	@rm -rf $(BUILD)/seeds/$* && mkdir -p $(BUILD)/seeds/$*
	@tar -xzmf $< -C $(BUILD)/seeds/$* && touch $@

## make test       install what is missing, build, pass all tests
test: deps
	+@$(LOOK_AGAIN) $(BUILD)/run-tests lacks
	$(BUILD)/run-tests $(ONLY)

# kernels/core/simd.h is a table of macros, aligned by hand, and is not formatted.
FORMATTED = git ls-files '*.c' '*.h' | grep -v '^kernels/core/simd\.h$$'
CLANG_FORMAT ?= clang-format-14
## make format     format all C files with clang-format
format:
	@tests/deps.sh clang-format-14
	$(FORMATTED) | xargs $(CLANG_FORMAT) -i
check-format:
	@tests/deps.sh clang-format-14
	@$(FORMATTED) | xargs $(CLANG_FORMAT) --dry-run -Werror 2>&1 | head -20 | { ! grep .; } && echo "format: ok"

## make run        install what is missing, build, pretrain the quick start and evaluate the trunk
run:
	@tests/deps.sh $(PACKAGES) dataset-fashion-mnist -- $(RECOMMENDED)
	+@$(LOOK_AGAIN) lacks
	./sslrun configs/swav.yaml $(ARGS)

## make example    build the examples of the C interface and run one
$(EXAMPLES): $(BUILD)/example-%: examples/%.c sslrun.h $(BUILD)/libsslrun.so
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) -o $@ $< -L$(BUILD) -lsslrun -Wl,-rpath,'$$ORIGIN'
example: $(EXAMPLES)
	$(BUILD)/example-features

## make bench-conv  measure the GFLOP/s of every convolution and its share of the processor's peak
$(BUILD)/conv-bench: $(BUILD)/bench/conv_bench.o $(BUILD)/libsslrun.a
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/op-bench: $(BUILD)/bench/op_bench.o $(BUILD)/libsslrun.a
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
bench-conv: $(BUILD)/conv-bench
	$(BUILD)/conv-bench

## make bench-gemm  measure matrix products beside OpenBLAS's, one thread
$(BUILD)/gemm-bench: $(BUILD)/bench/gemm_bench.o $(BUILD)/libsslrun.a
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
bench-gemm: $(BUILD)/gemm-bench
	OPENBLAS_NUM_THREADS=1 $(BUILD)/gemm-bench

## make bench-index  measure an index of a million rows: open, query, exact neighbours, copies, a search
$(BUILD)/index-bench: $(BUILD)/bench/index_bench.o $(BUILD)/libsslrun.a
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
bench-index: $(BUILD)/index-bench $(BUILD)/sslrun
	bench/index.sh $(BUILD)

## make charts     draw the charts of docs/reference from its tables, into docs/pictures
charts:
	awk -v chart=steps -f bench/charts.awk docs/reference/performance.md >docs/pictures/steps.svg.new && mv docs/pictures/steps.svg.new docs/pictures/steps.svg
	awk -v chart=methods -f bench/charts.awk docs/reference/results.md >docs/pictures/methods.svg.new && mv docs/pictures/methods.svg.new docs/pictures/methods.svg
## make scoreboard  measure the README's benchmark table on this machine, as Markdown, in ROUNDS=3 rounds (python3-torch; some 20 minutes)
ROUNDS ?= 3
scoreboard: sslrun
	@bench/scoreboard.sh $(ROUNDS)

## make layers     fail on includes against the order of rooms, circles, types defined twice, plugins named elsewhere, large rooms
layers:
	@tests/test_layers.sh
	@tests/layers.sh

## make prose      fail on comments and documents that break docs/design/prose.md, in the rooms of tests/prose.rooms
prose:
	@tests/prose.sh

## make deps       install missing Debian packages, or print the command to paste; on other systems list what is needed
deps:
	@tests/deps.sh $(PACKAGES) -- $(RECOMMENDED)
# Prints the last line of a build, which names missing parts.
lacks: sslrun
	@tests/deps.sh --lacks $(LACKS)

## make clean      remove what the build made
clean:
	rm -rf build package sslrun sslrun-static *.cdx.json libsslrun.a libsslrun.so*

include install.mk tests/checks.mk tests/fuzz/fuzz.mk
-include $(shell test -d $(BUILD) && find $(BUILD) -type f -name '*.d')
