// SPDX-License-Identifier: Apache-2.0
#include "handlers.h"
#include "clock.h"
#include "handler.h"
#include "kernels.h"
#include "protocol.h"
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct slot {
	pid_t pid; // 0: free
	uint32_t serial;
	int control; // -1: the other end is gone
	uint32_t links; // connections to outside that it holds or that are on their way to it
	char id[ID_MAX + 1]; // of an exec; empty for other operations
};

static struct slot slots[HANDLERS_MAX];
static size_t used; // slots behind it were never used
static uint32_t last_serial;
struct identity identity;

static struct {
	bool active;
	struct handler_ref asker;
	int64_t deadline;
} quiesce;

static struct slot *find(struct handler_ref ref)
{
	struct slot *s = &slots[ref.slot];
	return s->pid && s->serial == ref.serial ? s : NULL;
}

static struct handler_ref ref_of(const struct slot *s)
{
	return (struct handler_ref){(uint16_t)(s - slots), s->serial};
}

static size_t connected_count(void)
{
	size_t count = 0;
	for (size_t i = 0; i < used; i++)
		count += slots[i].pid && slots[i].links > 0;
	return count;
}

static struct slot *free_slot(void)
{
	for (size_t i = 0; i < HANDLERS_MAX; i++)
		if (!slots[i].pid) {
			if (i >= used)
				used = i + 1;
			return &slots[i];
		}
	return NULL;
}

bool handlers_full(void)
{
	return connected_count() >= CONNECTED_MAX || kernels_sweeping();
}

__attribute__((noreturn)) static void become_handler(int connection, int control)
{
	// Only the two descriptors stay, at fixed places: 3 and 4.
	int a = fcntl(connection, F_DUPFD_CLOEXEC, 16), b = fcntl(control, F_DUPFD_CLOEXEC, 16);
	if (a < 0 || b < 0 || dup3(a, 3, O_CLOEXEC) < 0 || dup3(b, 4, O_CLOEXEC) < 0)
		_exit(71);
	syscall(SYS_close_range, 5, ~0U, 0);
	handler_run(3, 4);
}

// The one thing that init says itself: a sandbox that has used up its processes cannot serve anybody.
static void refuse(int connection, const char *why)
{
	uint8_t bytes[256];
	struct tlv_writer w = {.data = bytes, .capacity = sizeof bytes};
	tlv_put_text(&w, TAG_FAILURE_CODE, "spawn_failed");
	tlv_put_text(&w, TAG_MESSAGE, why);
	frame_send(connection, FRAME_FAILURE, w.data, w.length);
}

void handlers_start(int connection, int listener)
{
	int pair[2];
	struct slot *s = free_slot();
	if (!s || !control_pair(pair)) {
		refuse(connection, s ? "the sandbox has no memory left for a connection"
				     : "1024 commands run, have left something running, or wait to be fetched");
		return;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(listener);
		become_handler(connection, pair[1]);
	}
	close(pair[1]);
	if (pid < 0) {
		refuse(connection, "the sandbox can make no more processes");
		close(pair[0]);
		return;
	}
	*s = (struct slot){.pid = pid, .serial = ++last_serial, .control = pair[0], .links = 1};
}

size_t handlers_poll(struct pollfd *polls, struct handler_ref *refs)
{
	size_t count = 0;
	for (size_t i = 0; i < used; i++)
		if (slots[i].pid && slots[i].control >= 0) {
			polls[count] = (struct pollfd){.fd = slots[i].control, .events = POLLIN};
			refs[count++] = ref_of(&slots[i]);
		}
	return count;
}

static void drop_control(struct slot *s)
{
	if (s->control >= 0)
		close(s->control);
	s->control = -1;
	s->links = 0;
	kernels_forget(ref_of(s));
}

bool handler_tell(struct handler_ref ref, const struct control *c, int passed_fd)
{
	struct slot *s = find(ref);
	return s && s->control >= 0 && control_send(s->control, c, passed_fd);
}

static void answer(struct slot *s, uint32_t kind)
{
	struct control c = {.kind = kind};
	handler_tell(ref_of(s), &c, -1);
}

static struct slot *find_exec(const char *id)
{
	for (size_t i = 0; i < used; i++)
		if (slots[i].pid && slots[i].control >= 0 && strcmp(slots[i].id, id) == 0)
			return &slots[i];
	return NULL;
}

static void register_exec(struct slot *s, const struct control *c)
{
	if (find_exec(c->id)) {
		answer(s, CONTROL_REFUSED);
		return;
	}
	memcpy(s->id, c->id, sizeof s->id);
	answer(s, CONTROL_OK);
}

static void attach(struct slot *s, const struct control *c, int connection)
{
	struct slot *target = c->id[0] ? find_exec(c->id) : NULL;
	struct control take = {.kind = CONTROL_TAKE};
	bool handed = target && connection >= 0 && handler_tell(ref_of(target), &take, connection);
	if (handed) {
		target->links++; // and that of the bringer counts until it has ended and its copy is closed
	}
	answer(s, handed ? CONTROL_OK : CONTROL_REFUSED);
}

static void begin_quiesce(struct slot *asker, uint32_t millis)
{
	quiesce.active = true;
	quiesce.asker = ref_of(asker);
	quiesce.deadline = now_ms() + millis + 500;
	struct control c = {.kind = CONTROL_DETACH, .millis = millis};
	for (size_t i = 0; i < used; i++)
		if (slots[i].pid && slots[i].links > 0 && &slots[i] != asker)
			handler_tell(ref_of(&slots[i]), &c, -1);
}

int64_t quiesce_deadline(void)
{
	return quiesce.active ? quiesce.deadline : -1;
}

void quiesce_advance(void)
{
	if (!quiesce.active)
		return;
	struct slot *asker = find(quiesce.asker);
	size_t left = connected_count() - (asker && asker->links > 0);
	if (asker && left > 0 && now_ms() < quiesce.deadline)
		return;
	struct control c = {.kind = CONTROL_QUIESCED, .value = (int32_t)left};
	handler_tell(quiesce.asker, &c, -1);
	quiesce.active = false;
}

static void take_identity(struct slot *asker, const struct control *c)
{
	bool another = strcmp(identity.sandbox, c->sandbox) != 0;
	memcpy(identity.sandbox, c->sandbox, sizeof identity.sandbox);
	memcpy(identity.entropy, c->entropy, sizeof identity.entropy);
	identity.generation = c->generation;
	// A child has its parent's running commands, but nobody holds a claim on their output here.
	struct control discard = {.kind = CONTROL_DISCARD};
	for (size_t i = 0; another && i < used; i++)
		if (slots[i].pid && slots[i].links == 0)
			handler_tell(ref_of(&slots[i]), &discard, -1);
	answer(asker, CONTROL_OK);
}

static void tell_info(struct slot *s)
{
	struct control c = {.kind = CONTROL_OK, .generation = identity.generation};
	handlers_count(&c.handlers, &c.execs);
	memcpy(c.sandbox, identity.sandbox, sizeof c.sandbox);
	c.pid = kernels_describe(c.language, sizeof c.language);
	handler_tell(ref_of(s), &c, -1);
}

static void obey(struct slot *s, const struct control *c, int passed_fd)
{
	switch (c->kind) {
	case CONTROL_REGISTER:
		register_exec(s, c);
		break;
	case CONTROL_DETACHED:
		s->links -= s->links > 0;
		break;
	case CONTROL_ATTACH:
		attach(s, c, passed_fd);
		break;
	case CONTROL_QUIESCE:
		begin_quiesce(s, c->millis);
		break;
	case CONTROL_CELL:
		if (!kernels_ask(ref_of(s), c->language))
			answer(s, CONTROL_REFUSED);
		break;
	case CONTROL_CELL_STOP:
		kernels_stop_cell(ref_of(s));
		break;
	case CONTROL_CELL_SWEEP:
		kernels_sweep(ref_of(s));
		break;
	case CONTROL_IDENTITY:
		take_identity(s, c);
		break;
	case CONTROL_DONE:
		s->id[0] = 0;
		break;
	case CONTROL_INFO:
		tell_info(s);
		break;
	default:
		break;
	}
}

void handlers_event(struct handler_ref ref)
{
	struct slot *s = find(ref);
	struct control c;
	int passed_fd;
	if (!s || s->control < 0)
		return;
	int got = control_receive(s->control, &c, &passed_fd);
	if (got == 1)
		obey(s, &c, passed_fd);
	else if (got < 0)
		drop_control(s);
	if (passed_fd >= 0)
		close(passed_fd);
}

bool handlers_reaped(pid_t pid)
{
	for (size_t i = 0; i < used; i++)
		if (slots[i].pid == pid) {
			drop_control(&slots[i]);
			slots[i] = (struct slot){0};
			return true;
		}
	return false;
}

size_t handlers_pids(pid_t *pids, size_t most)
{
	size_t count = 0;
	for (size_t i = 0; i < used && count < most; i++)
		if (slots[i].pid)
			pids[count++] = slots[i].pid;
	return count;
}

void handlers_count(uint32_t *all, uint32_t *execs)
{
	*all = *execs = 0;
	for (size_t i = 0; i < used; i++)
		if (slots[i].pid) {
			++*all;
			*execs += slots[i].id[0] != 0;
		}
}
