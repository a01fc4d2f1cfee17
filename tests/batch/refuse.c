/* Loaded before libc: refuses shared maps or locks of files in a folder, as some file systems do.
   REFUSED_FOLDER is the folder, REFUSED holds the words maps, locks or both. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int refused(const char *what, int fd) {
  const char *folder = getenv("REFUSED_FOLDER"), *words = getenv("REFUSED");
  char link[64], path[PATH_MAX];
  if (!folder || !words || !strstr(words, what) || fd < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0;
}

void *mmap64(void *start, size_t length, int protection, int flags, int fd, off_t offset) {
  static void *(*real)(void *, size_t, int, int, int, off_t);
  if (!real) real = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap64");
  if ((flags & MAP_SHARED) && refused("maps", fd)) {
    errno = ENODEV;
    return MAP_FAILED;
  }
  return real(start, length, protection, flags, fd, offset);
}

void *mmap(void *start, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap64(start, length, protection, flags, fd, offset);
}

int fcntl64(int fd, int command, ...) {
  static int (*real)(int, int, ...);
  if (!real) real = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64");
  va_list more;
  va_start(more, command);
  void *argument = va_arg(more, void *);
  va_end(more);
  int locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
  if (locks && refused("locks", fd)) {
    errno = ENOLCK;
    return -1;
  }
  return real(fd, command, argument);
}

int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void *argument = va_arg(more, void *);
  va_end(more);
  return fcntl64(fd, command, argument);
}
