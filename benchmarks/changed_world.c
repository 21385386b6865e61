/* Kills the process at one of its system calls, and shows it another world: a clock that is off, another host.
 *
 * Loaded by LD_PRELOAD. Deaths are those of crash_calls.c. WORLD_CLOCK_S is added to the time of day, in seconds;
 * clocks that count from the boot go on as they are. WORLD_HOST is the name of the machine.
 */
#include "crash_calls.c"

#include <sys/time.h>
#include <time.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static time_t off(void)
{
    const char *seconds = getenv("WORLD_CLOCK_S");

    return seconds == NULL ? 0 : (time_t)atol(seconds);
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
    static __typeof__(&clock_gettime) next;
    int result;

    if (next == NULL)
        next = NEXT(clock_gettime);
    result = next(clock, at);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        at->tv_sec += off();
    return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    static int (*next)(struct timeval *, void *);
    int result;

    if (next == NULL)
        next = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
    result = next(at, zone);
    if (result == 0)
        at->tv_sec += off();
    return result;
}

time_t time(time_t *at)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (at != NULL)
        *at = now.tv_sec;
    return now.tv_sec;
}

int gethostname(char *name, size_t size)
{
    static __typeof__(&gethostname) next;
    const char *other = getenv("WORLD_HOST");

    if (next == NULL)
        next = NEXT(gethostname);
    if (other == NULL)
        return next(name, size);
    snprintf(name, size, "%s", other);
    return 0;
}
