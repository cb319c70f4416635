# Rules for installation, generated documents and packages. The Makefile includes this file.
.PHONY: install docs check-install check-reproducible sbom deb check-deb deb-arm64

## make install    install into PREFIX (/usr/local): program, configurations, libraries, sslrun.h, sslrun.pc, manual pages, completions
# Symbols for debuggers stay in the tree: they are six sevenths of the program. INSTALL_STRIP= keeps them.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
INSTALL_STRIP ?= -s
# What starts a program that was built for another architecture: qemu-aarch64.
RUN ?=
SHARE = $(DESTDIR)$(PREFIX)/share
MAN = $(SHARE)/man/man1
ETC_BASH = $(SHARE)/bash-completion/completions
LIB = $(DESTDIR)$(LIBDIR)
# A folder below PREFIX from which Debian's Python imports; empty if there is none.
PYTHON_SITE ?= $(shell /usr/bin/python3 -c "import sys; print(next((p for p in sys.path if p.startswith('$(PREFIX)/') \
    and p.endswith('-packages')), ''))" 2>/dev/null)
install: sslrun libsslrun.a libsslrun.so
	@tests/deps.sh --lacks $(LACKS)
	install -d $(MAN) $(ETC_BASH) $(SHARE)/zsh/vendor-completions $(SHARE)/fish/vendor_completions.d
	rm -f $(MAN)/sslrun.1.gz $(MAN)/sslrun-*.1.gz
	$(RUN) ./sslrun manual pages $(MAN) && gzip -9n $(MAN)/sslrun.1 $(MAN)/sslrun-*.1
	$(RUN) ./sslrun manual bash >$(ETC_BASH)/sslrun
	$(RUN) ./sslrun manual zsh >$(SHARE)/zsh/vendor-completions/_sslrun
	$(RUN) ./sslrun manual fish >$(SHARE)/fish/vendor_completions.d/sslrun.fish
	install -d $(DESTDIR)$(PREFIX)/bin $(LIB)/pkgconfig $(DESTDIR)$(PREFIX)/include $(SHARE)/doc/sslrun
	install $(INSTALL_STRIP) sslrun $(DESTDIR)$(PREFIX)/bin/
	install -m 644 libsslrun.a $(LIB)/
	install $(INSTALL_STRIP) -m 644 $(SONAME) $(LIB)/$(SONAME).$(VERSION)
	ln -sf $(SONAME).$(VERSION) $(LIB)/$(SONAME)
	ln -sf $(SONAME) $(LIB)/libsslrun.so
	install -m 644 sslrun.h $(DESTDIR)$(PREFIX)/include/
	install -D -m 644 -t $(SHARE)/sslrun/python python/sslrun.py
	install -m 644 README.md LICENSE $(SHARE)/doc/sslrun/
	find docs \( -name '*.md' -o -name '*.png' -o -name '*.svg' \) -exec install -D -m 644 {} $(SHARE)/doc/sslrun/{} \;
	$(if $(PYTHON_SITE),install -D -m 644 -t $(DESTDIR)$(PYTHON_SITE) python/sslrun.py,@echo "python: PYTHONPATH=$(PREFIX)/share/sslrun/python")
	find configs -name '*.yaml' -exec install -D -m 644 {} $(SHARE)/sslrun/{} \;
	install -D -m 755 configs/prepare_data.sh $(SHARE)/sslrun/configs/prepare_data.sh
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: sslrun' 'Description: features of vision trunks' 'Version: $(VERSION)' \
	    'Cflags: -I$${prefix}/include' 'Libs: -L$(LIBDIR) -lsslrun' 'Libs.private: -fopenmp $(LDLIBS)' \
	    >$(LIB)/pkgconfig/sslrun.pc
## make docs       write docs/reference/keys.md and verbs.md from the tables; fail on a broken link in a document
docs: sslrun
	./sslrun manual keys >docs/reference/keys.md.new && mv docs/reference/keys.md.new docs/reference/keys.md
	./sslrun manual verbs >docs/reference/verbs.md.new && mv docs/reference/verbs.md.new docs/reference/verbs.md
	@tests/links.sh
## make check-install  install into a temporary folder, run from another folder, build the example with pkg-config
check-install:
	@tests/install.sh "$(MAKE)" "$(CC)"

## make check-reproducible build twice in two folders and fail unless program and libraries are equal byte by byte (minutes)
check-reproducible:
	@tests/reproducible.sh "$(MAKE)"
## make sbom       write sslrun.cdx.json, the software bill of materials of ./sslrun (CycloneDX; Debian)
sbom: sslrun
	@tests/sbom.sh sslrun $(VERSION) /usr/include/stb/stb_image.h >sslrun.cdx.json.new && mv sslrun.cdx.json.new sslrun.cdx.json
	@echo "sbom: $$(grep -c '"type": "library"' sslrun.cdx.json) packages in sslrun.cdx.json"

## make deb        build Debian packages of this tree in package/ and check them with lintian
## make check-deb  build the packages, install and try them in a root made by debootstrap (as root; minutes)
deb:
	@tests/deps.sh $(PACKAGES) debhelper dh-python fakeroot lintian libheif-dev libmicrohttpd-dev libseccomp-dev libtiff-dev libturbojpeg0-dev libwebp-dev
	@tests/package.sh package
## make deb-arm64  build the packages for arm64 by Debian's cross compiler in package/arm64 and try the program under qemu-user
deb-arm64:
	@dpkg-checkbuilddeps -a arm64 -Pcross,nocheck -B || { echo "deb-arm64: for packages of arm64, as root: dpkg --add-architecture arm64 &&" \
	    "apt-get update && apt-get build-dep -a arm64 -P cross,nocheck --no-install-recommends ./"; exit 1; }
	@tests/package.sh package/arm64 arm64
check-deb: deb
	@tests/deps.sh debootstrap
	@tests/package_root.sh package
