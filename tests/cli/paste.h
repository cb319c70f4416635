// Pastes commands into a shell, and follows the commands that the program suggests.
//
//     paste_begin();                        // an empty folder
//     paste_photos("photos", "hat", 1);
//     paste_try("sslrun init photos");      // fails the test unless it works; keeps suggestions
//     paste_follow();                       // tries what was suggested, and what that suggests
//     paste_end();
#ifndef SR_TESTS_CLI_PASTE_H
#define SR_TESTS_CLI_PASTE_H

extern char paste_dir[64];       // the folder in which commands run
extern char paste_said[1 << 15]; // what the last command printed, both streams

enum { PASTE_PER_CLASS = 20, PASTE_SIDE = 24 };

void paste_begin(void); // makes the folder, with configs/ of this tree, and forgets suggestions
void paste_end(void);
// Writes PASTE_PER_CLASS photos of noise, <folder>/<name>/<i>.jpg; seed: another one, other photos.
void paste_photos(const char *folder, const char *name, int seed);

// A shell line that writes weights of a ResNet-18 trained on photos/, as torchvision would.
#define PASTE_WEIGHTS(file)                                                                 \
    "sslrun configs/photos.yaml DATA.TRAIN.DATA_PATHS=photos "                              \
    "DATA.TRAIN.BATCHSIZE_PER_REPLICA=8 OPTIMIZER.num_epochs=1 "                            \
    "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=1 MODEL.TRUNK.RESNETS.SMALL_IMAGE_STEM=False "    \
    "'MODEL.HEAD.PARAMS=[[mlp, {dims: [512, 128]}]]' TEST_MODEL=False CHECKPOINT.DIR=w && " \
    "sslrun convert w " file " --to torchvision --only trunk && rm -r w"

// Runs a line with the program in the path and returns its exit code.
int paste_run(const char *line);
// Runs a command of the program; the test fails if it does not work.  Training takes one epoch, and
// what serves a page is ended.  Exit code 1 is good where it means that something was found.
// Commands below "next:" are kept, each once.
void paste_try(const char *command);
// Tries the kept commands in their order, also those that they suggest.  Returns their number.
int paste_follow(void);

#endif
