// SPDX-License-Identifier: Apache-2.0
#include "bytes.h"
#include "clock.h"
#include "control.h"
#include "handler.h"
#include "protocol.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The short operations: one question, one answer.

void operation_identity(struct handler *h)
{
	const struct request *r = &h->request;
	bool named = sethostname(r->hostname, strlen(r->hostname)) == 0;
	int pool = open("/dev/urandom", O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	if (pool >= 0) {
		ssize_t mixed = write(pool, r->entropy, sizeof r->entropy);
		(void)mixed; // a belt only: the kernel's pool is fine without
		close(pool);
	}
	struct control c = {.kind = CONTROL_IDENTITY, .generation = r->generation}, answer;
	memcpy(c.sandbox, r->sandbox, sizeof c.sandbox);
	memcpy(c.entropy, r->entropy, sizeof c.entropy);
	handler_ask(h, &c, -1, &answer);

	uint8_t bytes[128];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_u32(&w, TAG_GENERATION, r->generation);
	tlv_put(&w, TAG_HOSTNAME_SET, &(uint8_t){named}, 1);
	handler_finish(h, FRAME_REPLY, &w);
}

void operation_attach(struct handler *h)
{
	struct control c = {.kind = CONTROL_ATTACH}, answer;
	memcpy(c.id, h->request.id, sizeof c.id);
	handler_ask(h, &c, h->connection, &answer);
	if (answer.kind != CONTROL_OK)
		handler_fail(h, "no_such_exec", "no exec of this id runs or waits here");
	_exit(0); // the connection belongs to the exec's handler now
}

void operation_quiesce(struct handler *h)
{
	struct control c = {.kind = CONTROL_QUIESCE, .millis = h->request.wait_ms}, answer;
	handler_ask(h, &c, -1, &answer);
	uint8_t bytes[32];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_u32(&w, TAG_STILL_CONNECTED, (uint32_t)answer.value);
	handler_finish(h, FRAME_REPLY, &w);
}

static uint64_t uptime_ms(void)
{
	return (uint64_t)now_ms();
}

void operation_ping(struct handler *h)
{
	struct control c = {.kind = CONTROL_INFO}, answer;
	handler_ask(h, &c, -1, &answer);
	uint8_t bytes[512];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_u32(&w, TAG_VERSION, PROTOCOL_VERSION);
	tlv_put_u64(&w, TAG_UPTIME_MS, uptime_ms());
	tlv_put_u32(&w, TAG_GENERATION, answer.generation);
	tlv_put_text(&w, TAG_SANDBOX_ID, answer.sandbox);
	tlv_put_u32(&w, TAG_HANDLERS, answer.handlers);
	tlv_put_u32(&w, TAG_EXECS_RUNNING, answer.execs);
	if (answer.pid) {
		char text[64];
		snprintf(text, sizeof text, "%s %d", answer.language, answer.pid);
		tlv_put_text(&w, TAG_KERNEL, text);
	}
	handler_finish(h, FRAME_REPLY, &w);
}
