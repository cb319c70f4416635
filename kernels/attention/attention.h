// Params of attention.
#ifndef SR_KERNELS_ATTENTION_ATTENTION_H
#define SR_KERNELS_ATTENTION_ATTENTION_H

typedef struct { // attention
    int num_heads;
    double scale;   // 0: 1 / sqrt(numbers of a head)
    double dropout; // probability of dropping a probability, in training
    int queries;    // only that many first tokens have queries; 0: all
    // Windows of a map that was shifted before it was cut (Swin): scores between tokens of
    // different sides of the map's edge get -100.
    int windows_h, windows_w; // windows of an image; 0: no mask
    int window_h, window_w;   // tokens of a window
    int shift_h, shift_w;     // pixels by which the map was shifted before it was cut into windows
} SrAttentionParams;

#endif
