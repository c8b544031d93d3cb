// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* The programs for kernels that do not tell their types (no CONFIG_DEBUG_INFO_BTF). */
#define WITHOUT_KERNEL_TYPES 1

#include "ecn_proxy.bpf.c"
