// SPDX-License-Identifier: Apache-2.0
#include "clock.h"
#include "job.h"
#include "limits.h"
#include "protocol.h"
#include "spawn.h"
#include "tree.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// A command: a new process under this handler, which is made the reaper of all that comes from it.

// Languages without a persistent interpreter read the code as their standard input.
static const struct {
	const char *language;
	char *argv[3];
} readers[] = {
	{"node", {"node", "-", NULL}}, {"javascript", {"node", "-", NULL}}, {"bash", {"bash", "-s", NULL}},
	{"sh", {"sh", "-s", NULL}},    {"ruby", {"ruby", "-", NULL}},       {"perl", {"perl", "-", NULL}},
};

static char *const *reader_for(const char *language)
{
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		if (strcmp(readers[i].language, language) == 0)
			return readers[i].argv;
	return NULL;
}

static int code_file(const struct request *r)
{
	int fd = (int)syscall(SYS_memfd_create, "collimate-code", MFD_CLOEXEC);
	for (size_t done = 0; fd >= 0 && done < r->code_length;) {
		ssize_t n = write(fd, r->code + done, r->code_length - done);
		if (n <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static char *const *choose_argv(struct handler *h, char *shell_argv[4])
{
	const struct request *r = &h->request;
	if (r->operation == OP_CODE) {
		char *const *argv = reader_for(r->language);
		if (!argv)
			handler_fail(h, "bad_request", "code can be python, node, bash, sh, ruby or perl");
		return argv;
	}
	if (r->argc)
		return r->argv;
	shell_argv[0] = "/bin/sh";
	shell_argv[1] = "-c";
	shell_argv[2] = r->shell;
	shell_argv[3] = NULL;
	return shell_argv;
}

static int open_input(struct job *j, int *ours)
{
	const struct request *r = &j->handler->request;
	int pipes[2];
	*ours = -1;
	if (r->operation == OP_CODE)
		return code_file(r);
	if (!r->wants_stdin)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	fcntl(pipes[1], F_SETFL, O_NONBLOCK); // our end only: the two ends of a pipe are two open files
	*ours = pipes[1];
	return pipes[0];
}

static char **choose_environment(const struct request *r)
{
	static char seed[15 + 64 + 1] = "COLLIMATE_SEED=";
	const char *const defaults[] = {seed, NULL};
	for (int i = 0; i < 32; i++)
		snprintf(seed + 15 + 2 * i, 3, "%02x", r->seed[i]);
	return environment_build(r, environ, r->has_seed ? defaults : NULL);
}

bool exec_start(struct job *j)
{
	struct handler *h = j->handler;
	char *shell_argv[4];
	char *const *argv = choose_argv(h, shell_argv);
	char **env = choose_environment(&h->request);
	int out[2], err[2], in = open_input(j, &j->in);
	if (in < 0 || !env || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		return false;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	j->pid = spawn_command(&h->request, argv, env, (struct stdio){in, out[1], err[1]});
	close(in);
	close(out[1]);
	close(err[1]);
	if (j->pid < 0)
		return false;
	j->out = out[0];
	j->err = err[0];
	job_started(j);
	return true;
}

void exec_reap(struct job *j)
{
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (pid != j->pid || j->phase != JOB_RUNNING)
			continue;
		j->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		j->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		if (j->signal == SIGKILL && !j->stopping)
			j->flags |= RESULT_KILLED_FROM_OUTSIDE;
		job_ended(j);
	}
}

static void reap_between_rounds(void *job)
{
	exec_reap(job);
}

void exec_stop(struct job *j)
{
	j->tree_left = !tree_kill(getpid(), (struct pid_list){0}, reap_between_rounds, j);
	j->kill_again = now_ms() + TREE_AGAIN_MS;
}

// To the whole process group, as a terminal would do it. The command is alive or our zombie: its number is its own.
void exec_signal(struct job *j, int signal)
{
	if (j->phase == JOB_RUNNING)
		kill(-j->pid, signal);
}
