// Requests for the live page, drawn by a grammar: methods, addresses, hosts, tokens, headers,
// bodies and the ways in which bytes arrive. The same seed and number give the same request on
// every machine.
#ifndef SR_TESTS_FUZZ_WEB_GRAMMAR_H
#define SR_TESTS_FUZZ_WEB_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEB_GRAMMAR_BYTES = 1 << 17, WEB_GRAMMAR_CUTS = 4 };

// How the bytes are sent.
typedef enum {
    WEB_WHOLE,  // at once
    WEB_PIECES, // with a pause at each cut
    WEB_GONE,   // up to the first cut, then the connection is reset
    WEB_HELD,   // up to the first cut, and the connection stays open
} WebDelivery;

typedef struct {
    char bytes[WEB_GRAMMAR_BYTES];
    size_t n;
    size_t cut[WEB_GRAMMAR_CUTS]; // ascending, in 0 .. n
    WebDelivery delivery;
    int status;     // that the answer must have; 0: any of the known ones
    bool is_stream; // the answer does not end by itself
} WebRequest;

// The grammar knows of the server: the runs "one" (with a report) and "deep/two" (without), which
// nobody trains and nobody knows how to continue, and the token. The server listens on 127.0.0.1.
void web_grammar_draw(WebRequest *out, uint64_t seed, uint64_t number, const char *token);

#endif
