// Replaces the part of GnuTLS that libmicrohttpd touches before anybody asks for TLS, for the
// static program (static/static.mk). `sslrun web` serves plain HTTP, and Debian has no static
// p11-kit, on which the real GnuTLS stands.
#include <stdlib.h>

int gnutls_global_init(void);
void gnutls_global_deinit(void);
extern void *(*gnutls_malloc)(size_t bytes);
extern void (*gnutls_free)(void *p);

int gnutls_global_init(void) { return 0; }
void gnutls_global_deinit(void) {}
void *(*gnutls_malloc)(size_t bytes) = malloc;
void (*gnutls_free)(void *p) = free;
