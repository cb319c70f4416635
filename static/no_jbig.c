// Takes the place of JBIG-KIT in the static program: its licence, the GPL, would extend to the
// whole file. A TIFF that is compressed by JBIG, as some fax machines do, is a damaged image there.
#include <stddef.h>

struct jbg_dec_state;
struct jbg_enc_state;

void jbg_dec_init(struct jbg_dec_state *s);
int jbg_dec_in(struct jbg_dec_state *s, unsigned char *data, size_t len, size_t *taken);
unsigned char *jbg_dec_getimage(const struct jbg_dec_state *s, int plane);
unsigned long jbg_dec_getsize(const struct jbg_dec_state *s);
void jbg_dec_free(struct jbg_dec_state *s);
int jbg_newlen(unsigned char *data, size_t len);
const char *jbg_strerror(int code);
void jbg_enc_init(struct jbg_enc_state *s, unsigned long x, unsigned long y, int planes,
                  unsigned char **p, void (*out)(unsigned char *, size_t, void *), void *file);
void jbg_enc_out(struct jbg_enc_state *s);
void jbg_enc_free(struct jbg_enc_state *s);

// libtiff decodes in this order and stops at the code of jbg_dec_in, which is 0 for success.
void jbg_dec_init(struct jbg_dec_state *s) { (void)s; }
int jbg_newlen(unsigned char *data, size_t len) { return (void)data, (void)len, 0; }
int jbg_dec_in(struct jbg_dec_state *s, unsigned char *data, size_t len, size_t *taken) {
    return (void)s, (void)data, (void)len, (void)taken, 1;
}
const char *jbg_strerror(int code) { return (void)code, "the static sslrun cannot read JBIG"; }
unsigned char *jbg_dec_getimage(const struct jbg_dec_state *s, int plane) {
    return (void)s, (void)plane, NULL;
}
unsigned long jbg_dec_getsize(const struct jbg_dec_state *s) { return (void)s, 0; }
void jbg_dec_free(struct jbg_dec_state *s) { (void)s; }
// sslrun writes no TIFF.
void jbg_enc_init(struct jbg_enc_state *s, unsigned long x, unsigned long y, int planes,
                  unsigned char **p, void (*out)(unsigned char *, size_t, void *), void *file) {
    (void)s, (void)x, (void)y, (void)planes, (void)p, (void)out, (void)file;
}
void jbg_enc_out(struct jbg_enc_state *s) { (void)s; }
void jbg_enc_free(struct jbg_enc_state *s) { (void)s; }
