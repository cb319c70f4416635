// The program's version: printed, and written into every checkpoint.
#ifndef SR_BASE_VERSION_H
#define SR_BASE_VERSION_H

#define SR_VERSION "0.2.0"

#endif
