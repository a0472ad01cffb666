# SPDX-License-Identifier: Apache-2.0
# Compiler flags. Dependencies come from pkg-config; nothing is vendored.

CONFIG ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
IS_CLANG := $(findstring clang,$(CC))
B ?= build/$(CONFIG)$(if $(IS_CLANG),-clang)
ifeq ($(B),build/release)
BIN := build/bin
else
BIN := $(B)/bin
endif

WARN_COMMON := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wundef -Wwrite-strings -Wnull-dereference -Walloca -Werror
WARN_GCC := -Wcast-align=strict -Wimplicit-fallthrough=5 -Wduplicated-cond -Wlogical-op
WARN_CLANG := -Wcast-align -Wimplicit-fallthrough
HARDEN := -fstack-protector-strong -fstack-clash-protection -fPIE \
	$(if $(filter x86_64,$(shell uname -m)),-fcf-protection) \
	$(if $(IS_CLANG),,-ftrivial-auto-var-init=zero)

OPT_release := -O2 -g -D_FORTIFY_SOURCE=3
OPT_debug := -O0 -g3
OPT_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
OPT_tsan := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
OPT_cov := -O0 -g --coverage -fprofile-update=atomic
ifeq ($(origin OPT_$(CONFIG)),undefined)
$(error CONFIG=$(CONFIG) is not one of release, debug, asan, tsan, cov)
endif

PKGS := libcurl jansson yaml-0.1 openssl libnghttp2
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS)))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $(shell pkg-config --libs $(PKGS)))$(PKG_LIBS)

COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

CFLAGS_ALL = -std=c17 -D_GNU_SOURCE -Ipkg -I. $(WARN_COMMON) $(if $(IS_CLANG),$(WARN_CLANG),$(WARN_GCC)) \
	$(HARDEN) $(OPT_$(CONFIG)) $(PKG_CFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(OPT_$(CONFIG)) -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS)
LDLIBS_ALL = $(PKG_LIBS) -lpthread -lm $(LDLIBS)
