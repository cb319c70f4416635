// Signals that ask the program to end: SIGINT, SIGTERM, SIGHUP (the terminal is gone) and SIGUSR1 (a batch system's
// warning, as Slurm's --signal=USR1).  While a run has state to save, the first asks its loop to save and stop and a
// second SIGINT or SIGTERM ends the process at once; else the first of any does.  What was ignored when the program started (nohup) stays so.
// The exit code is 128 + the signal's number.
#ifndef SR_CLI_INTERRUPT_H
#define SR_CLI_INTERRUPT_H

// From now on a signal writes `note` (a string that stays; no line break) to stderr and ends the process.  SIGPIPE is
// ignored: whoever reads the log may be gone before the state is saved.
void sr_interrupt_at_once(const char *note);
// SrTrainOptions.stop: the signal that arrived, or 0.  From the first question on somebody listens, and the first
// signal is left for the next one.
int sr_interrupt_asked(void *unused);
int sr_interrupt_signal(void); // 0 or the signal that arrived
// From now on all of them end the process, as usual; SIGPIPE stays ignored if one has arrived.
void sr_interrupt_uninstall(void);

#endif
