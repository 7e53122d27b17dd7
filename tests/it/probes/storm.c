/* Processes that do not want to end: each leaves its session, its group and its parent, again and again. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int storms = count > 1 ? atoi(arguments[1]) : 16;
    for (int signal_number = 1; signal_number < 32; signal_number++) signal(signal_number, SIG_IGN);
    for (int storm = 0; storm < storms; storm++) {
        if (fork()) continue;
        for (;;) {
            setsid();
            if (fork() > 0) _exit(0);
        }
    }
    /* Until the storm has begun. */
    usleep(5000);
    return 0;
}
