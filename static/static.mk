# One file for download: the program with its libraries inside. The Makefile includes this file.
.PHONY: static check-static

# Ranks need an installed Open MPI, and Debian has no static libheif.
STATIC_BUILD = $(MAKE) --no-print-directory BUILD=build/static STATIC=yes MPI=no HEIF=no
## make static     build sslrun-static, one file that runs on any Linux with this type of processor (no ranks, no HEIC), and its bill of materials
static:
	@tests/deps.sh $(PACKAGES) libgfortran-12-dev libstdc++-12-dev -- $(RECOMMENDED)
	+@$(STATIC_BUILD) build/static/sslrun
	$(Q)strip -o sslrun-static.new build/static/sslrun && mv -f sslrun-static.new sslrun-static
	+@tests/sbom.sh sslrun-static $(VERSION) /usr/include/stb/stb_image.h $$($(STATIC_BUILD) -s archives) >sslrun-static.cdx.json
	@ls -l sslrun-static | awk '{ printf "sslrun-static: %.1f MB\n", $$5 / 1e6 }'

## make check-static run the suites that start the program, with the static one; ONLY="cli knn_verb ..."
check-static: static
	+@$(STATIC_BUILD) build/static/run-tests
	@! readelf -d sslrun-static | grep NEEDED
	build/static/run-tests $(or $(ONLY),$(sort $(patsubst tests/cli/test_%.c,%,$(wildcard tests/cli/test_*.c))))

ifeq ($(STATIC),yes)
# libmicrohttpd refers to GnuTLS, which it needs for TLS alone. In a copy of it these references are weak, so that they may stay
# unresolved; no_tls.c defines the four that it uses without TLS.
ifeq ($(WEB),yes)
STATIC_PARTS = $(BUILD)/static/no_tls.o $(BUILD)/lib/libmicrohttpd.a
endif
STATIC_PARTS += $(BUILD)/static/no_jbig.o
$(BUILD)/lib/libmicrohttpd.a:
	@mkdir -p $(@D)
	$(SAY) AR $@
	$(Q)objcopy --wildcard --weaken-symbol='gnutls_*' $$($(CC) -print-file-name=libmicrohttpd.a) $@
# Prints the archives of the libraries.
.PHONY: archives
archives:
	@for l in $(filter -l%,$(LDLIBS) $(STATIC_LIBS)); do $(CC) -print-file-name=lib$${l#-l}.a; done | grep / | sort -u
# OpenBLAS holds Fortran, LIBLINEAR C++, and libtiff names the compressions that it was built with. OpenMP's library would
# look for accelerators by dlopen, of which the linker warns.
LINK_KIND = -static-pie -Wl,--no-warnings -L$(BUILD)/lib
STATIC_LIBS = $(if $(filter yes,$(TIFF)),$(filter-out -ljbig,$(shell $(PKG_CONFIG) --static --libs-only-l libtiff-4))) -lgfortran -lquadmath -lstdc++
endif
