// SPDX-License-Identifier: BSD-3-Clause
// What the kernels of a GPU report to each other and to the host, and their shared memory.
#pragma once

#include "../../runtime/warp.cuh"

namespace manymove::dpd {

constexpr int kThreads = 256;

// Words of shared memory by their addresses, which have 32 bits. With pointers and indices the
// compiler adds the base of the array to each address again, which costs 2 % more instructions in
// the kernel of a step: hence the assembler.
__device__ inline unsigned shared_address(const unsigned* word) {
  return static_cast<unsigned>(__cvta_generic_to_shared(word));
}
__device__ inline void store_shared(unsigned address, unsigned value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
__device__ inline unsigned load_shared(unsigned address) {
  unsigned value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

// ---- what kernels report to each other and to the host ----

struct DeviceStatus {
  long long expired;  // from this step on the lists do not hold
  unsigned wanted;    // entries that the longest list would have, if there is no room for it
  unsigned lost;      // tag
};
// Steps are not negative. On several ranks the host writes -1 to `expired` when it gives up waiting
// for another rank: kernels of steps do nothing then, and what should have come is not read.
__device__ inline bool given_up(const DeviceStatus& control) {
  return static_cast<const volatile DeviceStatus&>(control).expired < 0;
}

// The same in the host's memory, with the step that the last kernel began.
struct HostStatus {
  volatile long long started, expired;
  volatile unsigned wanted, lost;
  volatile long long refused;  // the step at whose end a change of velocities was impossible, or 0
  volatile unsigned overfull;  // whether an interval did not fit into shared memory
};

struct StepStatus {
  DeviceStatus* device;
  HostStatus* host;
};

__device__ inline bool stale(const StepStatus& status, long long step) {
  // Both are read at once.
  const long long expired = status.device->expired;
  const unsigned wanted = status.device->wanted;
  return (expired <= step) | (wanted != 0);
}
// The first step counts: where there are several ranks, kernels of two steps may run at a time.
__device__ inline void expire(const StepStatus& status, long long step) {
  if (status.device->expired > step) atomicMin(&status.device->expired, step);
  status.host->expired = step;
}
__device__ inline void lose(const StepStatus& status, unsigned tag, long long step) {
  status.device->lost = tag;
  status.host->lost = tag;
  expire(status, step);
}

// No later step begins.
__device__ inline void refuse_change(const StepStatus& status, long long step) {
  status.host->refused = step;
  expire(status, step + 1);
}

}  // namespace manymove::dpd
