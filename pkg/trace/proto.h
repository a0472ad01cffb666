/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * As much of the protobuf wire format as spans need: writing fields and nested messages, and
 * walking over the fields of a message. protobuf.dev/programming-guides/encoding
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

void proto_varint(StrBuf *out, unsigned field, uint64_t value);
void proto_fixed32(StrBuf *out, unsigned field, uint32_t value);
void proto_fixed64(StrBuf *out, unsigned field, uint64_t value);
void proto_bytes(StrBuf *out, unsigned field, Str bytes);
/* A message: what is appended between open and close is its content. */
size_t proto_open(StrBuf *out, unsigned field);
void proto_close(StrBuf *out, size_t at);

typedef struct ProtoField {
    unsigned number;
    uint64_t value; /* varint and fixed */
    Str bytes;      /* length-delimited */
} ProtoField;

/* Takes the next field off *message. False at its end, and when the rest is not one. */
bool proto_next(Str *message, ProtoField *ret);
