// SPDX-License-Identifier: Apache-2.0
#include "request.h"
#include "bytes.h"
#include "protocol.h"
#include "tlv.h"
#include <stdlib.h>
#include <string.h>

static bool text_is_clean(const uint8_t *value, size_t length)
{
	return memchr(value, 0, length) == NULL;
}

static bool copy_text(char **to, const uint8_t *value, size_t length)
{
	if (!text_is_clean(value, length))
		return false;
	free(*to);
	*to = strndup((const char *)value, length);
	return *to != NULL;
}

static bool copy_id(char to[ID_MAX + 1], const uint8_t *value, size_t length)
{
	if (length == 0 || length > ID_MAX)
		return false;
	for (size_t i = 0; i < length; i++) {
		uint8_t c = value[i];
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
		if (!fine)
			return false;
	}
	memcpy(to, value, length);
	to[length] = 0;
	return true;
}

static bool append_text(char ***list, size_t *count, size_t most, const uint8_t *value, size_t length)
{
	if (*count == most || !text_is_clean(value, length))
		return false;
	if ((*count & (*count + 1)) == 0) { // grow when count + 1 is a power of two; one place more for the NULL
		char **larger = realloc(*list, (2 * (*count + 1) + 1) * sizeof **list);
		if (!larger)
			return false;
		*list = larger;
	}
	char *copy = strndup((const char *)value, length);
	if (!copy)
		return false;
	(*list)[(*count)++] = copy;
	(*list)[*count] = NULL;
	return true;
}

static bool take_u32(uint32_t *to, const uint8_t *value, size_t length)
{
	if (length != 4)
		return false;
	*to = load_u32(value);
	return true;
}

static bool take_32_bytes(uint8_t to[32], bool *has, const uint8_t *value, size_t length)
{
	if (length != 32)
		return false;
	memcpy(to, value, 32);
	return *has = true;
}

static bool take_bool(bool *to, const uint8_t *value, size_t length)
{
	if (length != 1 || value[0] > 1)
		return false;
	*to = value[0];
	return true;
}

static bool take_env(struct request *r, const uint8_t *value, size_t length)
{
	const uint8_t *equals = memchr(value, '=', length);
	return equals && equals != value && append_text(&r->env, &r->envc, ENV_MAX, value, length);
}

static bool take(struct request *r, uint8_t tag, const uint8_t *value, size_t length)
{
	uint32_t number = 0;
	switch (tag) {
	case TAG_VERSION:
		return take_u32(&number, value, length) && number == PROTOCOL_VERSION;
	case TAG_OPERATION:
		return length == 1 && (r->operation = value[0]) != 0;
	case TAG_EXEC_ID:
		return copy_id(r->id, value, length);
	case TAG_ARGV:
		return append_text(&r->argv, &r->argc, ARGV_MAX, value, length);
	case TAG_SHELL:
		return copy_text(&r->shell, value, length);
	case TAG_CODE:
		r->code = value;
		r->code_length = length;
		return r->has_code = true;
	case TAG_LANGUAGE:
		return length < 16 && copy_text(&r->language, value, length);
	case TAG_ENV:
		return take_env(r, value, length);
	case TAG_CWD:
		return length > 0 && length <= PATH_BYTES && copy_text(&r->cwd, value, length);
	case TAG_USER:
		return length > 0 && length <= 256 && copy_text(&r->user, value, length);
	case TAG_STDIN:
		return take_bool(&r->wants_stdin, value, length);
	case TAG_TIMEOUT_MS:
		return take_u32(&r->timeout_ms, value, length) && r->timeout_ms <= TIMEOUT_MS_MAX;
	case TAG_KILL_ON_DISCONNECT:
		return take_bool(&r->kill_on_disconnect, value, length);
	case TAG_SETTLE:
		return take_bool(&r->settle, value, length); // the interpreter reads it
	case TAG_SEED:
		return take_32_bytes(r->seed, &r->has_seed, value, length);
	case TAG_PATH:
		return length > 0 && length <= PATH_BYTES && copy_text(&r->path, value, length);
	case TAG_MODE:
		r->has_mode = take_u32(&number, value, length) && number <= 07777;
		r->mode = number;
		return r->has_mode;
	case TAG_HOSTNAME:
		return length > 0 && length <= 64 && copy_text(&r->hostname, value, length);
	case TAG_SANDBOX_ID:
		return copy_id(r->sandbox, value, length);
	case TAG_GENERATION:
		return r->has_generation = take_u32(&r->generation, value, length);
	case TAG_ENTROPY:
		return take_32_bytes(r->entropy, &r->has_entropy, value, length);
	case TAG_WAIT_MS:
		return take_u32(&r->wait_ms, value, length) && r->wait_ms <= HANDSHAKE_MS;
	default:
		return false; // an unknown wish must not be passed over in silence; TAG_PTY is one until it is built
	}
}

static const char *missing(const struct request *r)
{
	switch (r->operation) {
	case OP_EXEC:
		return (r->argc > 0) == (r->shell != NULL) ? "an exec needs either an argument list or a shell text" : NULL;
	case OP_CODE:
		if (!r->has_code)
			return "a code exec needs the code";
		return r->user ? "code runs in the interpreter's own user: user is not supported with it" : NULL;
	case OP_PUT:
	case OP_GET:
		return r->path ? NULL : "a file transfer needs a path";
	case OP_IDENTITY:
		return r->hostname && r->sandbox[0] && r->has_generation && r->has_entropy
			       ? NULL
			       : "an identity needs hostname, sandbox id, generation and entropy";
	case OP_ATTACH:
		return r->id[0] ? NULL : "attach needs an exec id";
	case OP_QUIESCE:
	case OP_PING:
		return NULL;
	default:
		return "unknown operation";
	}
}

const char *request_parse(struct request *r, const uint8_t *bytes, size_t length)
{
	static char bad_field[64];
	struct tlv_reader reader = {bytes, length};
	const uint8_t *value;
	size_t n;
	uint8_t tag;
	int got;
	bool versioned = false;
	memset(r, 0, sizeof *r);
	while ((got = tlv_next(&reader, &tag, &value, &n)) == 1) {
		if (!take(r, tag, value, n)) {
			if (tag == TAG_VERSION)
				return "another protocol version is spoken here";
			memcpy(bad_field, "field 000 is unknown or out of range", 37);
			for (int i = 0, rest = tag; i < 3; i++, rest /= 10)
				bad_field[8 - i] = (char)('0' + rest % 10);
			return bad_field;
		}
		versioned |= tag == TAG_VERSION;
	}
	if (got < 0)
		return "the request is malformed";
	if (!versioned)
		return "the request names no protocol version";
	return missing(r);
}
