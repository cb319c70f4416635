// Requests to the live page, drawn by a grammar: methods, paths, hosts, tokens, headers, bodies,
// and the ways in which bytes arrive. One seed and number give the same request on every machine.
#ifndef SR_TESTS_FUZZ_WEB_GRAMMAR_H
#define SR_TESTS_FUZZ_WEB_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEB_GRAMMAR_BYTES = 1 << 17, WEB_GRAMMAR_CUTS = 4 };

// Ways to send the bytes.
typedef enum {
    WEB_WHOLE,  // at once
    WEB_PIECES, // with a pause at each cut
    WEB_GONE,   // up to the first cut, then the connection is reset
    WEB_HELD,   // up to the first cut, and the connection stays open
} WebDelivery;

typedef struct {
    char bytes[WEB_GRAMMAR_BYTES];
    size_t n;
    size_t cut[WEB_GRAMMAR_CUTS]; // ascending, from 0 to n
    WebDelivery delivery;
    int status;     // required status of the answer; 0: any known one
    bool is_stream; // the answer does not end by itself
} WebRequest;

// Draws request `number` of a seed. The grammar knows the server: the runs "one" (with a report)
// and "deep/two" (without), which do not train and cannot be resumed, the token, and the address
// 127.0.0.1.
void web_grammar_draw(WebRequest *out, uint64_t seed, uint64_t number, const char *token);

#endif
