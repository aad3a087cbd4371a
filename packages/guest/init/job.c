// SPDX-License-Identifier: Apache-2.0
#include "job.h"
#include "clock.h"
#include "control.h"
#include "limits.h"
#include "protocol.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void job_started(struct job *j)
{
	uint8_t bytes[128];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_text(&w, TAG_EXEC_ID, j->handler->request.id);
	tlv_put_u32(&w, TAG_PID, (uint32_t)j->pid);
	outbox_put(&j->handler->out, FRAME_STARTED, w.data, w.length);
}

static size_t waiting_in(int pipe)
{
	int bytes = 0;
	return pipe >= 0 && ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
}

void job_ended(struct job *j)
{
	j->duration_us = now_us() - j->started_us;
	j->phase = JOB_DRAINING;
	if (j->in >= 0)
		close(j->in);
	j->in = -1;
	// Background children may hold the pipes for ever and may write without end: only what is there now counts.
	j->out_left = waiting_in(j->out);
	j->err_left = waiting_in(j->err);
}

void job_stop(struct job *j, uint32_t reason)
{
	if (j->phase != JOB_RUNNING || j->stopping)
		return;
	j->stopping = true;
	j->flags |= reason;
	j->deadline = -1;
	if (j->is_cell)
		cell_stop(j);
	else
		exec_stop(j);
}

// An exec without a name gets one, so that every stream can be attached to again.
static void name_exec(struct handler *h)
{
	struct control c = {.kind = CONTROL_REGISTER}, answer;
	if (!h->request.id[0])
		snprintf(h->request.id, sizeof h->request.id, "init-%d-%llx", getpid(), (unsigned long long)now_us());
	memcpy(c.id, h->request.id, sizeof c.id);
	handler_ask(h, &c, -1, &answer);
	if (answer.kind != CONTROL_OK)
		handler_fail(h, "exec_exists", "an exec of this id runs or waits to be fetched");
}

void operation_job(struct handler *h)
{
	static struct job job;
	struct job *j = &job;
	*j = (struct job){.handler = h, .out = -1, .err = -1, .in = -1, .closing = -1, .cell = -1, .cell_out = -1, .cell_err = -1};
	j->seed_ack = "off";
	j->detached_until = j->close_by = -1;
	name_exec(h);
	j->started_us = now_us();
	j->deadline = h->request.timeout_ms ? now_ms() + h->request.timeout_ms : -1;
	const char *language = h->request.language ? h->request.language : "python";
	j->is_cell = h->request.operation == OP_CODE && strcmp(language, "python") == 0;
	if (!(j->is_cell ? cell_start(j) : exec_start(j)))
		handler_fail(h, "spawn_failed", "the sandbox can make no more processes or pipes");
	job_loop(j);
}
