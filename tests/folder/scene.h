// Scenes for tests of dense features: shapes with textures on a plain ground, and their exact
// masks.  All textures have the same mean level, so that the colour of one pixel says little.
#ifndef SR_TESTS_FOLDER_SCENE_H
#define SR_TESTS_FOLDER_SCENE_H

#include <stdint.h>

// Classes of a mask: the ground, vertical stripes, horizontal stripes.
enum { SCENE_GROUND, SCENE_UPRIGHT, SCENE_FLAT, SCENE_CLASSES };

// Writes <dir>/<image>, a PNG of h x w pixels with a rectangle of each texture, and <dir>/<mask>, a
// grey PNG whose pixels are classes.  mask NULL: not wanted.
void scene_write(const char *dir, const char *image, const char *mask, int h, int w, int seed);
// Writes n scenes images/0.png ... and masks/0.png ..., of several sizes near 64 x 48.
void scene_write_folder(const char *dir, int n);

#endif
