// Tables of permutations that are far from each other, for jigsaw puzzles.
#ifndef SR_DATA_AUGMENT_PERMUTATIONS_H
#define SR_DATA_AUGMENT_PERMUTATIONS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct {
    int count, n;  // permutations, and numbers in each
    uint8_t *rows; // (count, n), each a permutation of 0 .. n-1
} SrPermutations;

// `count` different ones, in Noroozi and Favaro's greedy way (arXiv:1603.09246, algorithm 1): each next
// one is, of many drawn, the farthest in mean Hamming distance from those taken.  The same table on
// every machine.  SR_ERR_CONFIG when there are not so many.
SrStatus sr__permutations_make(int count, int n, SrArena *arena, SrPermutations *out);
// A .npy table of integers (count, n), from 0 or from 1.
SrStatus sr__permutations_load(const char *path, SrArena *arena, SrPermutations *out);

#endif
