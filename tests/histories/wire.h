// Messages between a simulated rank and the conductor: the rank sends one call of its
// communication library and waits for the answer.
#ifndef SR_TESTS_HISTORIES_WIRE_H
#define SR_TESTS_HISTORIES_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_RANKS = 4 }; // most ranks of a history

typedef enum {
    WIRE_START,
    WIRE_ABORT,
    WIRE_GIVE_WAY,
    WIRE_DONE,
    WIRE_PONG, // answers a ping
    // Operations of all ranks:
    WIRE_STOP,
    WIRE_ALL_GATHER,
    WIRE_BROADCAST,
    WIRE_EXCHANGE,
    WIRE_GATHER,
    WIRE_SUM
} WireKind;

// One call of SrCommLibrary.  Addresses are those of the rank's memory.
typedef struct {
    WireKind kind;
    int channel;       // of begin_*
    int root;          // of a broadcast
    int code;          // of an abort
    bool wait;         // of done
    int64_t operation; // of done: the number that begin_* received
    size_t bytes;      // of one rank's block; of all numbers in a sum
    const void *send;
    void *receive;
} WireCall;

typedef struct {
    bool ping;          // true: answer with WIRE_PONG and wait again
    int64_t fail_alloc; // the n-th allocation from now on fails; 0: unchanged
    bool done;          // of done: the operation is complete
    bool lost;          // the connection to another rank was lost
    int64_t operation;  // of begin_*
} WireAnswer;

// Returns a word for the call, such as "broadcast".
const char *wire_name(WireKind kind);

#endif
