// SIGINT and SIGTERM: the first asks the running loop to save and stop, a second ends the process
// at once. The one piece of state is the number of the signal that arrived.
#ifndef SR_CLI_INTERRUPT_H
#define SR_CLI_INTERRUPT_H

void sr_interrupt_install(void);
void sr_interrupt_uninstall(void);    // from now on both end the process, as usual
int sr_interrupt_signal(void);        // 0, SIGINT or SIGTERM
int sr_interrupt_asked(void *unused); // the same, as SrTrainOptions.stop

#endif
