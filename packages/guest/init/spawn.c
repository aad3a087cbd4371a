// SPDX-License-Identifier: Apache-2.0
#include "spawn.h"
#include "passwd.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static struct rlimit first_file_limit;

void spawn_remember_limits(void)
{
	getrlimit(RLIMIT_NOFILE, &first_file_limit);
}

const char *environment_get(char *const env[], const char *name)
{
	size_t length = strlen(name);
	for (; *env; env++)
		if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
			return *env + length + 1;
	return NULL;
}

static void set(char **env, size_t *count, const char *entry)
{
	size_t key = (size_t)(strchr(entry, '=') - entry) + 1;
	for (size_t i = 0; i < *count; i++)
		if (strncmp(env[i], entry, key) == 0) {
			env[i] = (char *)entry;
			return;
		}
	env[(*count)++] = (char *)entry;
	env[*count] = NULL;
}

char **environment_build(const struct request *r, char **inherited, const char *const *defaults)
{
	size_t most = r->envc + 2, count = 0;
	for (char **e = inherited; *e; e++)
		most++;
	for (const char *const *d = defaults; d && *d; d++)
		most++;
	char **env = calloc(most + 1, sizeof *env);
	if (!env)
		return NULL;
	set(env, &count, "PATH=" DEFAULT_PATH);
	set(env, &count, "HOME=/root");
	for (char **e = inherited; *e; e++)
		if (strchr(*e, '='))
			set(env, &count, *e);
	for (const char *const *d = defaults; d && *d; d++)
		set(env, &count, *d);
	for (size_t i = 0; i < r->envc; i++)
		set(env, &count, r->env[i]);
	return env;
}

// Init may be protected from the OOM killer from outside; what it starts must not inherit that.
static void reset_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "0", 1) != 1)
		dprintf(STDERR_FILENO, "collimate: could not give up the protection from the OOM killer\n");
	close(fd);
}

void spawn_reset_process(void)
{
	sigset_t none;
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_NOFILE, &first_file_limit);
	umask(022);
	reset_oom_score();
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static int try_file(const char *path, char *const argv[], char *const env[])
{
	execve(path, argv, env);
	if (errno != ENOEXEC)
		return errno;
	// A script without "#!" is the shell's, as POSIX wants it from execvp.
	size_t count = 0;
	while (argv[count])
		count++;
	char *script[count + 2];
	script[0] = "sh";
	script[1] = (char *)path;
	memcpy(script + 2, argv + 1, count * sizeof *argv);
	execve("/bin/sh", script, env);
	return ENOEXEC;
}

int spawn_execute(char *const argv[], char *const env[])
{
	const char *name = argv[0];
	if (strchr(name, '/'))
		return try_file(name, argv, env);
	if (!*name)
		return ENOENT;
	int found = ENOENT;
	const char *path = environment_get(env, "PATH");
	for (const char *at = path ? path : DEFAULT_PATH;;) {
		size_t length = strcspn(at, ":");
		char file[PATH_BYTES + 1];
		int n = length ? snprintf(file, sizeof file, "%.*s/%s", (int)length, at, name)
			       : snprintf(file, sizeof file, "./%s", name);
		if (n > 0 && (size_t)n < sizeof file) {
			int error = try_file(file, argv, env);
			if (error == EACCES)
				found = EACCES; // go on looking, but remember that one was there
			else if (error != ENOENT && error != ENOTDIR)
				return error;
		}
		if (!at[length])
			return found;
		at += length + 1;
	}
}

__attribute__((format(printf, 2, 3), noreturn)) static void give_up(int code, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vdprintf(STDERR_FILENO, format, arguments);
	va_end(arguments);
	_exit(code);
}

static bool asks_for(const struct request *r, const char *prefix)
{
	for (size_t i = 0; i < r->envc; i++)
		if (strncmp(r->env[i], prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static void become(const struct request *r, char **env)
{
	static struct account a; // large; the child of a single-threaded handler may use static memory
	if (!account_find(r->user, &a))
		give_up(126, "collimate: no such user or group: %s\n", r->user);
	if (setgroups(a.group_count, a.groups) < 0 || setresgid(a.gid, a.gid, a.gid) < 0 || setresuid(a.uid, a.uid, a.uid) < 0)
		give_up(126, "collimate: cannot become user %s: %s\n", r->user, strerror(errno));
	for (char **e = env; *e && !asks_for(r, "HOME="); e++)
		if (strncmp(*e, "HOME=", 5) == 0 && asprintf(e, "HOME=%s", a.home) < 0)
			_exit(126);
}

__attribute__((noreturn)) static void run(const struct request *r, char *const argv[], char **env, struct stdio io)
{
	setsid();
	if (dup2(io.in, 0) < 0 || dup2(io.out, 1) < 0 || dup2(io.err, 2) < 0)
		_exit(126);
	syscall(SYS_close_range, 3, ~0U, 0);
	spawn_reset_process();
	if (r->user)
		become(r, env);
	if (r->cwd && chdir(r->cwd) < 0)
		give_up(126, "collimate: cannot enter %s: %s\n", r->cwd, strerror(errno));
	int error = spawn_execute(argv, env);
	if (error == ENOENT || error == ENOTDIR)
		give_up(127, "collimate: %s: not found\n", argv[0]);
	give_up(126, "collimate: cannot run %s: %s\n", argv[0], strerror(error));
}

pid_t spawn_command(const struct request *r, char *const argv[], char **env, struct stdio io)
{
	pid_t pid = fork();
	if (pid == 0)
		run(r, argv, env, io);
	return pid;
}
