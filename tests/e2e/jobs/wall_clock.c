// Preloaded: the wall clock jumps by as many seconds as the file WALL_CLOCK_OFFSET holds (an int64,
// mapped). The kernel's stamps on datagrams jump along, as they do when the real clock is set.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t* offset;

__attribute__((constructor)) static void map_offset(void) {
  const char* path = getenv("WALL_CLOCK_OFFSET");
  int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) offset = mapped;
}

static int64_t now_off(void) { return offset == NULL ? 0 : *offset; }

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += now_off();
  }
  return result;
}

time_t time(time_t* result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != NULL) *result = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval* restrict result, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  result->tv_sec = now.tv_sec;
  result->tv_usec = now.tv_nsec / 1000;
  return 0;
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  ssize_t (*real)(int, struct msghdr*, int) =
      (ssize_t(*)(int, struct msghdr*, int))dlsym(RTLD_NEXT, "recvmsg");
  const ssize_t result = real(fd, message, flags);
  if (result < 0) return result;
  for (struct cmsghdr* one = CMSG_FIRSTHDR(message); one != NULL; one = CMSG_NXTHDR(message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec stamp;
    memcpy(&stamp, CMSG_DATA(one), sizeof stamp);
    stamp.tv_sec += now_off();
    memcpy(CMSG_DATA(one), &stamp, sizeof stamp);
  }
  return result;
}
