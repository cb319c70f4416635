// Checks the arguments of the functions of sslrun.h: a NULL pointer is an error with a message.
#ifndef SR_LIBRARY_ARGUMENTS_H
#define SR_LIBRARY_ARGUMENTS_H

#include "base/status.h"

// Returns SR_ERR_CONFIG from a function of sslrun.h if a pointer is NULL; `name` is the argument's
// name in the header.
#define SR_NEED(pointer, name)                                                                     \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return (int)sr_fail(SR_ERR_CONFIG, "%s: the argument `%s` is NULL", __func__, (name)); \
    } while (0)

#endif
