// Number of epochs that fits a time: `sslrun train --minutes N`.
#ifndef SR_CLI_MINUTES_H
#define SR_CLI_MINUTES_H

#include "cli/args/args.h"

// Loads the configuration with as many epochs as training takes in `minutes` on this machine, at
// least one, and says so.  A run whose folder has a configuration already keeps that one's epochs,
// so that it resumes in the same bits.  restart: it does not.
SrStatus sr_minutes_load(const SrArgs *args, int minutes, bool restart, SrConfig **out);

#endif
