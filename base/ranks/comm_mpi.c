// SrCommLibrary on MPI, and the only file that knows MPI.  Built where pkg-config finds Open MPI.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "base/compiler.h"
#include "base/ranks/comm_mpi.h"

// Most bytes of one MPI call: MPI counts in ints.
enum { MOST_BYTES = 1 << 30 };

// Tells whether a launcher started this process.  A process without one must not start MPI, which
// would wait for the launcher.
static bool launched(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_STEP_NUM_TASKS"};
    for (int i = 0; i < SR_COUNT(names); i++)
        if (getenv(names[i]))
            return true;
    return false;
}

// Communicator of all_gather, whose errors come back.  On MPI_COMM_WORLD an error ends all ranks,
// with MPI's message.
static MPI_Comm gathers;

// Starts MPI for calls from the main thread alone: the loader's threads make none.
static SrStatus start(int *rank, int *size) {
    int provided;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        SR_FAIL(SR_ERR_RUN, "MPI could not be started");
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    MPI_Comm_dup(MPI_COMM_WORLD, &gathers);
    MPI_Comm_set_errhandler(gathers, MPI_ERRORS_RETURN);
    return SR_OK;
}

static void stop(void) {
    MPI_Comm_free(&gathers);
    MPI_Finalize();
}

static void end_all(int code) {
    MPI_Abort(MPI_COMM_WORLD, code);
    _Exit(code);
}

static void give_way(void) { usleep(1000000); }

static int broadcast_in(MPI_Comm comm, void *data, size_t bytes, int root) {
    int code = MPI_SUCCESS;
    for (size_t at = 0; at < bytes && code == MPI_SUCCESS; at += MOST_BYTES)
        code =
            MPI_Bcast((char *)data + at, (int)SR_MIN(bytes - at, MOST_BYTES), MPI_BYTE, root, comm);
    return code;
}

static void broadcast(void *data, size_t bytes, int root) {
    broadcast_in(MPI_COMM_WORLD, data, bytes, root);
}

static SrStatus gather_status(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS)
        return SR_OK;
    MPI_Error_string(code, text, &length);
    SR_FAIL(SR_ERR_IO, "MPI could not gather the parts of all ranks: %s", text);
}

static SrStatus all_gather(const void *mine, size_t bytes, void *all) {
    int rank, size, code = MPI_SUCCESS;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *place = (char *)all + (size_t)rank * bytes;
    if (mine != place)
        memmove(place, mine, bytes);
    if (bytes <= MOST_BYTES)
        code =
            MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)bytes, MPI_BYTE, gathers);
    for (int r = 0; bytes > MOST_BYTES && r < size && code == MPI_SUCCESS; r++)
        code = broadcast_in(gathers, (char *)all + (size_t)r * bytes, bytes, r);
    return gather_status(code);
}

// Requests are stored in the caller's void pointer: Open MPI's are pointers, MPICH's are ints.
_Static_assert(sizeof(MPI_Request) <= sizeof(void *), "requests are kept as pointers");

static void keep(MPI_Request request, void **out) { memcpy(out, &request, sizeof request); }

// Communicators of the channels.  The first operation on a channel creates its communicator, and
// all ranks begin these first operations in the same order.
static MPI_Comm channels[SR_COMM_CHANNELS];
static bool is_open[SR_COMM_CHANNELS];

static MPI_Comm channel_of(int channel) {
    if (!is_open[channel])
        MPI_Comm_dup(MPI_COMM_WORLD, &channels[channel]);
    is_open[channel] = true;
    return channels[channel];
}

static void begin_exchange(int channel, const void *send, void *receive, size_t bytes, void **out) {
    MPI_Request request;
    MPI_Ialltoall(send, (int)(bytes / sizeof(float)), MPI_FLOAT, receive,
                  (int)(bytes / sizeof(float)), MPI_FLOAT, channel_of(channel), &request);
    keep(request, out);
}

static void begin_gather(int channel, void *all, size_t bytes, void **out) {
    MPI_Request request;
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)(bytes / sizeof(float)), MPI_FLOAT,
                   channel_of(channel), &request);
    keep(request, out);
}

static void begin_sum(int channel, float *values, int64_t n, void **out) {
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, values, (int)n, MPI_FLOAT, MPI_SUM, channel_of(channel), &request);
    keep(request, out);
}

static bool done(void **kept, bool wait) {
    MPI_Request request;
    int flag = 1;
    memcpy(&request, kept, sizeof request);
    if (wait)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    keep(request, kept);
    return flag != 0;
}

const SrCommLibrary sr_comm_mpi = {
    .name = "Open MPI",
    .launched = launched,
    .start = start,
    .stop = stop,
    .abort = end_all,
    .give_way = give_way,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .begin_exchange = begin_exchange,
    .begin_gather = begin_gather,
    .begin_sum = begin_sum,
    .done = done,
};
