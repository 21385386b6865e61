/* Makes writes fail below a folder, under whatever library makes them. Loaded by LD_PRELOAD.
 *
 * STORAGE_FAULT=NTH:ERRNO:LASTING:FOLDER lets the NTH call of pwrite, write, fdatasync, fsync or ftruncate on a
 * file below FOLDER fail with ERRNO, and all that follow where LASTING is 1. NTH 0 only counts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

long storage_calls(void) { return atomic_load(&calls); }

static int fails(int fd)
{
    const char *fault = getenv("STORAGE_FAULT");
    long nth, n;
    int number, lasting, start = 0;
    char link[64], path[4096];
    ssize_t length;

    if (fault == NULL || sscanf(fault, "%ld:%d:%d:%n", &nth, &number, &lasting, &start) < 3 || start == 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0 || (size_t)length < strlen(fault + start) || strncmp(path, fault + start, strlen(fault + start)))
        return 0;
    n = atomic_fetch_add(&calls, 1) + 1;
    if (nth == 0 || n < nth || (n > nth && !lasting))
        return 0;
    errno = number;
    return 1;
}

#define NEXT(name) static __typeof__(&name) next; if (next == NULL) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *content, size_t size)
{
    NEXT(write);
    return fails(fd) ? -1 : next(fd, content, size);
}

ssize_t pwrite(int fd, const void *content, size_t size, off_t at)
{
    NEXT(pwrite);
    return fails(fd) ? -1 : next(fd, content, size, at);
}

ssize_t pwrite64(int fd, const void *content, size_t size, off64_t at)
{
    NEXT(pwrite64);
    return fails(fd) ? -1 : next(fd, content, size, at);
}

int fsync(int fd)
{
    NEXT(fsync);
    return fails(fd) ? -1 : next(fd);
}

int fdatasync(int fd)
{
    NEXT(fdatasync);
    return fails(fd) ? -1 : next(fd);
}

int ftruncate(int fd, off_t size)
{
    NEXT(ftruncate);
    return fails(fd) ? -1 : next(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    NEXT(ftruncate64);
    return fails(fd) ? -1 : next(fd, size);
}
