/* Kills the process at one of its write-side system calls, whatever library makes it. Loaded by LD_PRELOAD.
 *
 * CRASH_CALL=NTH:WHEN:KIND:FOLDER kills before, midway or after (WHEN is b, m or a) the NTH call of a kind: w writes,
 * s synchronizes, n names, removes or cuts a file, t transmits over a network, * is any of them. Calls on files
 * below FOLDER and on network sockets count. Midway of a write, half of it is written; of others, nothing is.
 * NTH 0 only counts. CRASH_LOG names a file for the call at which it dies; where it only counts, for every call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static void note(char kind, const char *name, const char *place)
{
    const char *path = getenv("CRASH_LOG");
    int log = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);

    if (log >= 0) {
        dprintf(log, "%c %s %s\n", kind, name, place);
        close(log);
    }
}

/* Say when to die at a call on a place: b, m, a, or 0 for not at all. */
static char meets(char kind, const char *name, const char *place)
{
    const char *point = getenv("CRASH_CALL"), *folder;
    char when, only;
    long nth, n;
    int start = 0;

    if (point == NULL || place == NULL || sscanf(point, "%ld:%c:%c:%n", &nth, &when, &only, &start) < 3 || start == 0)
        return 0;
    folder = point + start;
    if (kind != 't' && strncmp(place, folder, strlen(folder)) != 0)
        return 0;
    if (only != '*' && only != kind)
        return 0;
    n = atomic_fetch_add(&calls, 1) + 1;
    if (nth == 0 || n == nth)
        note(kind, name, kind == 't' ? place : place + strlen(folder));
    return nth != 0 && n == nth ? when : 0;
}

/* Name the file of a descriptor; NULL where there is none. */
static const char *file(int fd, char *path)
{
    char link[64];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, PATH_MAX - 1);
    if (length < 0)
        return NULL;
    path[length] = 0;
    return path;
}

static char meets_file(char kind, const char *name, int fd)
{
    char path[PATH_MAX];
    struct sockaddr_storage address;
    socklen_t size = sizeof address;

    if (getenv("CRASH_CALL") == NULL)
        return 0;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return meets(kind, name, file(fd, path));
    return address.ss_family == AF_INET || address.ss_family == AF_INET6 ? meets('t', name, "network") : 0;
}

static char meets_path(char kind, const char *name, int folder, const char *path)
{
    char whole[2 * PATH_MAX];

    if (getenv("CRASH_CALL") == NULL)
        return 0;
    if (path[0] == '/' || folder == AT_FDCWD)
        return meets(kind, name, path);
    if (file(folder, whole) == NULL)
        return 0;
    strncat(whole, "/", sizeof whole - strlen(whole) - 1);
    strncat(whole, path, sizeof whole - strlen(whole) - 1);
    return meets(kind, name, whole);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

#define AROUND(type, name, when_, parameters, whole, half)                                                            \
    type name parameters                                                                                              \
    {                                                                                                                 \
        static __typeof__(&name) next;                                                                                \
        type result;                                                                                                  \
        char when = when_;                                                                                            \
                                                                                                                      \
        if (next == NULL)                                                                                             \
            next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                        \
        if (when == 'm')                                                                                              \
            (void)!(half);                                                                                            \
        if (when == 'b' || when == 'm')                                                                               \
            die();                                                                                                    \
        result = next whole;                                                                                          \
        if (when == 'a')                                                                                              \
            die();                                                                                                    \
        return result;                                                                                                \
    }
#define ON_FILE(type, name, kind, parameters, whole, half)                                                            \
    AROUND(type, name, meets_file(kind, #name, fd), parameters, whole, half)
#define ON_PATH(name, folder, path, parameters, whole)                                                                \
    AROUND(int, name, meets_path('n', #name, folder, path), parameters, whole, 0)

ON_FILE(ssize_t, write, 'w', (int fd, const void *content, size_t size), (fd, content, size),
        next(fd, content, size / 2))
ON_FILE(ssize_t, pwrite, 'w', (int fd, const void *content, size_t size, off_t at), (fd, content, size, at),
        next(fd, content, size / 2, at))
ON_FILE(ssize_t, pwrite64, 'w', (int fd, const void *content, size_t size, off64_t at), (fd, content, size, at),
        next(fd, content, size / 2, at))
ON_FILE(ssize_t, writev, 'w', (int fd, const struct iovec *parts, int count), (fd, parts, count),
        next(fd, parts, count / 2))
ON_FILE(ssize_t, send, 't', (int fd, const void *content, size_t size, int flags), (fd, content, size, flags),
        next(fd, content, size / 2, flags))
ON_FILE(ssize_t, sendto, 't',
        (int fd, const void *content, size_t size, int flags, const struct sockaddr *to, socklen_t length),
        (fd, content, size, flags, to, length), next(fd, content, size / 2, flags, to, length))
ON_FILE(ssize_t, sendmsg, 't', (int fd, const struct msghdr *message, int flags), (fd, message, flags), 0)
ON_FILE(int, fsync, 's', (int fd), (fd), 0)
ON_FILE(int, fdatasync, 's', (int fd), (fd), 0)
ON_FILE(int, ftruncate, 'n', (int fd, off_t size), (fd, size), 0)
ON_FILE(int, ftruncate64, 'n', (int fd, off64_t size), (fd, size), 0)
ON_PATH(unlink, AT_FDCWD, path, (const char *path), (path))
ON_PATH(unlinkat, folder, path, (int folder, const char *path, int flags), (folder, path, flags))
ON_PATH(rename, AT_FDCWD, path, (const char *path, const char *to), (path, to))
ON_PATH(renameat, folder, path, (int folder, const char *path, int other, const char *to), (folder, path, other, to))
ON_PATH(link, AT_FDCWD, to, (const char *path, const char *to), (path, to))
ON_PATH(linkat, other, to, (int folder, const char *path, int other, const char *to, int flags),
        (folder, path, other, to, flags))
ON_PATH(mkdir, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
ON_PATH(mkdirat, folder, path, (int folder, const char *path, mode_t mode), (folder, path, mode))

/* Opening a file counts where it may make one. */
#define OPENING(name, folder, first, parameters)\
    int name parameters                                                                                               \
    {                                                                                                                 \
        static __typeof__(&name) next;                                                                                \
        va_list more;                                                                                                 \
        mode_t mode;                                                                                                  \
        char when;                                                                                                    \
        int fd;                                                                                                       \
                                                                                                                      \
        va_start(more, flags);                                                                                        \
        mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                                                            \
        va_end(more);                                                                                                 \
        if (next == NULL)                                                                                             \
            next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                        \
        when = flags & O_CREAT ? meets_path('n', #name, folder, path) : 0;                                            \
        if (when == 'b' || when == 'm')                                                                               \
            die();                                                                                                    \
        fd = next(first flags, mode);                                                                                 \
        if (when == 'a')                                                                                              \
            die();                                                                                                    \
        return fd;                                                                                                    \
    }
#define PATH path,
#define FOLDER_AND_PATH folder, path,
OPENING(open, AT_FDCWD, PATH, (const char *path, int flags, ...))
OPENING(open64, AT_FDCWD, PATH, (const char *path, int flags, ...))
OPENING(openat, folder, FOLDER_AND_PATH, (int folder, const char *path, int flags, ...))
OPENING(openat64, folder, FOLDER_AND_PATH, (int folder, const char *path, int flags, ...))
