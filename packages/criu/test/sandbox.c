/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest container that looks like a sandbox to criu:
 *
 *   sandbox ROOT UID_BASE COMMAND ARG...
 *
 * ROOT is a mounted file system with /proc, /tmp, /dev/null and this program as
 * /sandbox (criu can't dump a program that lies outside). The command runs
 * below a reaping PID 1 in user, pid, mount, uts, ipc and network
 * namespaces of its own, with nothing open that comes from outside. Prints the
 * host pid of PID 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, "sandbox: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_map(pid_t pid, const char *name, const char *base)
{
	char path[64], map[64];
	int fd, n = snprintf(map, sizeof(map), "0 %s 65536\n", base);

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY);
	check(fd < 0 || write(fd, map, n) != n, path);
	close(fd);
}

static void bring_lo_up(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int sk = socket(AF_INET, SOCK_DGRAM, 0);

	check(sk < 0 || ioctl(sk, SIOCSIFFLAGS, &r), "lo up");
	close(sk);
}

static void enter_root(const char *root)
{
	/* A mount of our own: what was copied into this namespace is locked. */
	check(mount(root, root, NULL, MS_BIND, NULL) || chdir(root), root);
	check(mount("proc", "proc", "proc", 0, NULL), "proc");
	check(syscall(SYS_pivot_root, ".", "."), "pivot_root");
	check(umount2(".", MNT_DETACH) || chdir("/"), "umount of the old root");
}

/* PID 1, started anew from inside. */
static int init(char **command)
{
	int fd;

	if (!fork()) {
		setsid();
		fd = open("/stderr", O_WRONLY | O_CREAT | O_APPEND, 0666);
		dup2(fd, 2);
		close(fd);
		execv(command[0], command);
		_exit(127);
	}
	while (1)
		if (wait(NULL) < 0)
			pause();
}

static void inside(const char *root, char **command, int go)
{
	char byte;
	int null, fd;

	check(read(go, &byte, 1) != 1, "wait for the id maps");
	check(setgroups(0, NULL) || setgid(0) || setuid(0), "become root inside");
	/* Lost by the change of ids; without it not even root inside may look at us. */
	check(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "PR_SET_DUMPABLE");
	check(setsid() < 0, "setsid");
	bring_lo_up();
	enter_root(root);
	check(sethostname("sandbox", 7), "sethostname");
	null = open("/dev/null", O_RDWR);
	check(null < 0, "/dev/null");
	for (fd = 0; fd < 3; fd++)
		dup2(null, fd);
	syscall(SYS_close_range, 3, ~0u, 0);
	clearenv();
	setenv("PATH", "/usr/bin:/bin", 1);
	command[-1] = "--init";
	command[-2] = "/sandbox";
	execv("/sandbox", command - 2);
	check(1, "exec of /sandbox");
}

int main(int argc, char **argv)
{
	int go[2], flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET;
	pid_t pid;

	if (argc > 2 && !strcmp(argv[1], "--init"))
		return init(argv + 2);
	check(argc < 4, "usage: sandbox ROOT UID_BASE COMMAND ARG...");
	check(pipe(go), "pipe");
	/* Mounts made inside must not reach the host. */
	check(unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
	pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
	check(pid < 0, "clone");
	if (!pid) {
		close(go[1]);
		inside(argv[1], argv + 3, go[0]);
	}
	write_map(pid, "uid_map", argv[2]);
	write_map(pid, "gid_map", argv[2]);
	check(write(go[1], "g", 1) != 1, "start");
	printf("%d\n", pid);
	return 0;
}
