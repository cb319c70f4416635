// Signals that ask the program to end: SIGINT, SIGTERM, SIGHUP (the terminal was closed) and
// SIGUSR1 (warning of a batch system, as Slurm's --signal=USR1).  While a run has state to save,
// the first signal asks its loop to save and stop, and a second SIGINT or SIGTERM ends the
// process at once.  Otherwise the first signal ends the process.  Files that were being written
// are removed.  Signals that were ignored at the start (nohup) stay ignored.  The exit code is
// 128 + the signal's number.
#ifndef SR_CLI_INTERRUPT_H
#define SR_CLI_INTERRUPT_H

// Makes a signal end the process as the system does, without its temporary files.  The program
// begins in this state.
void sr_interrupt_begin(void);
// Makes the first signal write `note` to stderr and end the process.  note: one line without a
// line break; it must stay valid.  SIGPIPE is ignored from now on: the reader of the log may be
// gone before the state is saved.
void sr_interrupt_at_once(const char *note);
// Returns the signal that arrived; 0: none.  Serves as SrTrainOptions.stop.  After the first
// call, a signal no longer ends the process; the next call returns it.
int sr_interrupt_asked(void *unused);
// Makes the first signal write `note` and wait for sr_interrupt_asked; a second one ends the
// process.  note: what is being finished, as in "finishing this batch of images"; it must stay
// valid.
void sr_interrupt_listen(const char *note);
// Remembers the next signals without ending the process, as sr_interrupt_asked does, but writes no
// line to stderr: a child process gets the signal too and writes its own.
void sr_interrupt_remember(void);
int sr_interrupt_signal(void); // the signal that arrived; 0: none
// Restores the state of sr_interrupt_begin.  SIGPIPE stays ignored if a signal has arrived.
void sr_interrupt_uninstall(void);

#endif
