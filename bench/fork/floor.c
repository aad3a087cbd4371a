// SPDX-License-Identifier: Apache-2.0
// The floor: what the kernel itself takes for a fork of a process with so much memory into fresh namespaces. No processes
// inside, no files, no sockets, no control groups: nothing that forks a sandbox can be quicker.
//   floor MIB COUNT: prints the milliseconds that COUNT forks took; each child has answered, then all are ended.
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT_MAX = 4096, FIRST_ID = 0x10000 * 6000, IDS = 65536 };

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void write_map(pid_t pid, const char *name, long first) {
  char path[64], text[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  int length = snprintf(text, sizeof text, "0 %ld %d\n", first, IDS);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, (size_t)length) != length) err(1, "%s", path);
  close(fd);
}

static pid_t fork_into_namespaces(int go, int answers, volatile unsigned char *memory) {
  struct clone_args args = {
    .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP,
    .exit_signal = SIGCHLD,
  };
  pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) err(1, "clone3");
  if (pid > 0) return pid;
  char byte;
  if (read(go, &byte, 1) != 1) _exit(1); // its ids are mapped
  memory[0] = 1;
  if (write(answers, &byte, 1) != 1) _exit(1);
  for (;;) pause();
}

int main(int argc, char **argv) {
  if (argc != 3) errx(2, "usage: floor MIB COUNT");
  size_t bytes = strtoul(argv[1], NULL, 10) << 20;
  long count = strtol(argv[2], NULL, 10);
  if (bytes == 0 || count < 1 || count > COUNT_MAX) errx(2, "out of range");
  unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) err(1, "mmap");
  madvise(memory, bytes, MADV_HUGEPAGE);
  memset(memory, 0x5a, bytes);
  int go[2], answers[2];
  if (pipe2(go, O_CLOEXEC) || pipe2(answers, O_CLOEXEC)) err(1, "pipe");

  static pid_t pids[COUNT_MAX];
  double begun = now_ms();
  for (long at = 0; at < count; at++) {
    pids[at] = fork_into_namespaces(go[0], answers[1], memory);
    write_map(pids[at], "uid_map", FIRST_ID + at * IDS);
    write_map(pids[at], "gid_map", FIRST_ID + at * IDS);
    char byte = 'g';
    if (write(go[1], &byte, 1) != 1 || read(answers[0], &byte, 1) != 1) err(1, "no answer");
  }
  printf("%.3f\n", now_ms() - begun);
  for (long at = 0; at < count; at++) kill(pids[at], SIGKILL);
  for (long at = 0; at < count; at++) waitpid(pids[at], NULL, 0);
  return 0;
}
