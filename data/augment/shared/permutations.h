// Makes and loads tables of permutations that are far from each other, for jigsaw puzzles.
#ifndef SR_DATA_AUGMENT_SHARED_PERMUTATIONS_H
#define SR_DATA_AUGMENT_SHARED_PERMUTATIONS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct {
    int count, n;  // number of permutations, and of elements in each
    uint8_t *rows; // (count, n), each a permutation of 0 .. n-1
} SrPermutations;

// Makes `count` different permutations by Noroozi and Favaro's greedy algorithm (arXiv:1603.09246,
// algorithm 1).  Each is the one out of many candidates that has the largest mean Hamming distance
// to those already taken.  Every machine makes the same table.  SR_ERR_CONFIG: count exceeds n!.
SrStatus sr__permutations_make(int count, int n, SrArena *arena, SrPermutations *out);
// Loads a .npy table of integers (count, n), numbered from 0 or from 1.
SrStatus sr__permutations_load(const char *path, SrArena *arena, SrPermutations *out);

#endif
