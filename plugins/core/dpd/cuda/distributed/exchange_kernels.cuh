// SPDX-License-Identifier: BSD-3-Clause
// Which particles go to which rank, and the places of their records in the segments of a transport.
#pragma once

#include <stdexcept>
#include <vector>

#include "../../../parallel/transport.cuh"
#include "../../particle_records.h"
#include "../../settings.h"
#include "../engine_stream.cuh"
#include "../list_kernels.cuh"

namespace manymove::dpd {

// Records on their way to or from other ranks, the first[b]-th and those after it at data[b]. A row
// of blocks, blockIdx.y, is for each.
template <class T>
struct Records {
  static constexpr int kMost = 32;
  int count;
  unsigned first[kMost + 1];
  T* data[kMost];

  // Of this thread, in all; beyond the last of its row there is none.
  __device__ int index() const {
    const unsigned k = first[blockIdx.y] + blockIdx.x * kThreads + threadIdx.x;
    return k < first[blockIdx.y + 1] ? static_cast<int>(k) : -1;
  }
  __device__ T& mine() const { return data[blockIdx.y][blockIdx.x * kThreads + threadIdx.x]; }
  // The same for records that are followed by more: `apart` bytes lie from one to the next.
  __device__ T& mine(std::size_t apart) const {
    char* const first = reinterpret_cast<char*>(data[blockIdx.y]);
    return *reinterpret_cast<T*>(first + apart * (blockIdx.x * kThreads + threadIdx.x));
  }
};

// Between the records of a block in shared memory and their places, in words that follow each
// other: other GPUs and hosts are far.
template <bool out, class T>
__device__ void carry(const Records<T>& places, T* record) {
  using Word = unsigned long long;
  static_assert(sizeof(T) % sizeof(Word) == 0);
  const unsigned first = blockIdx.x * kThreads,
                 all = places.first[blockIdx.y + 1] - places.first[blockIdx.y];
  if (first >= all) return;
  const unsigned words = min(all - first, unsigned(kThreads)) * (sizeof(T) / sizeof(Word));
  auto* here = reinterpret_cast<Word*>(record);
  auto* there = reinterpret_cast<Word*>(places.data[blockIdx.y] + first);
  for (unsigned w = threadIdx.x; w < words; w += kThreads)
    if (out)
      there[w] = here[w];
    else
      here[w] = there[w];
}

// ---- who goes where: lists for several boxes, each in the order of particles ----

// One thread per particle; test(b, i) tells whether particle i belongs in list b. The numbers of
// each block, [boxes][blocks].
template <class Test>
__global__ void count_kernel(int count, int boxes, Test test, unsigned* number) {
  const int i = index_of_thread();
  for (int b = 0; b < boxes; ++b) {
    // The number of threads of the block whose particles belong in list b.
    const int sum = __syncthreads_count(i < count && test(b, i));
    if (threadIdx.x == 0)
      number[static_cast<unsigned>(b) * gridDim.x + blockIdx.x] = static_cast<unsigned>(sum);
  }
}

// One thread per box; offset: sums of the numbers before each, one more than there are numbers.
static __global__ void totals_kernel(int boxes, unsigned blocks, const unsigned* offset,
                                     unsigned* total) {
  const unsigned b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b < static_cast<unsigned>(boxes)) total[b] = offset[(b + 1) * blocks] - offset[b * blocks];
}

template <class Test>
__global__ void pick_kernel(int count, int boxes, Test test, const unsigned* offset,
                            unsigned* picked) {
  __shared__ unsigned of_warp[kThreads / 32];
  const int i = index_of_thread();
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned warp = threadIdx.x / 32;
  for (int b = 0; b < boxes; ++b) {
    const unsigned* first = offset + static_cast<unsigned>(b) * gridDim.x + blockIdx.x;
    if (first[0] == first[1]) continue;  // none in this block
    const bool in = i < count && test(b, i);
    const unsigned vote = __ballot_sync(kWholeWarp, in);
    if (lane == 0) of_warp[warp] = static_cast<unsigned>(__popc(vote));
    __syncthreads();
    // Behind the entries of former blocks, of the warps before this one, and of the lanes below.
    unsigned at = first[0];
    for (unsigned w = 0; w < warp; ++w) at += of_warp[w];
    if (in) picked[at + static_cast<unsigned>(lanes_before(vote, lane))] = static_cast<unsigned>(i);
    // The next box uses of_warp again.
    __syncthreads();
  }
}

// What stands for records that have not come because the host has given up: particles at rest in
// the corner of this rank's part. Their cells, types and slots exist, so that the kernels that are
// already in the streams end without a fault.
struct Absent {
  const DeviceStatus* control;
  Brick own;

  __device__ bool are_all() const { return given_up(*control); }
  template <Precision P>
  __device__ void replace(int k, typename P::Position& position,
                          typename P::Velocity& velocity) const {
    constexpr int shift = 8 * sizeof(typename P::Unsigned) - 32;
    const auto word = [&](int a) {
      return static_cast<typename P::Unsigned>(static_cast<typename P::Unsigned>(own.low[a])
                                               << shift);
    };
    position.x = word(0);
    position.y = word(1);
    position.z = word(2);
    position.kind = 1;
    velocity = {0, 0, 0, static_cast<std::uint32_t>(k + 1)};
  }
};

// One thread per particle, the i-th of those from the first on: marks where its cell begins and the
// one before ends.
__device__ inline void mark_cell(const Cells& cells, int i, int first, int count,
                                 const unsigned* key, int2* range) {
  const unsigned mask = (1u << 3 * cells.bits) - 1u;
  const int cell = cell_of_key(cells, key[i] & mask),
            before = i > 0 ? cell_of_key(cells, key[i - 1] & mask) : -1;
  // Keys are sorted: each boundary between two cells is seen by one thread.
  if (cell != before) {
    range[cell].x = first + i;
    if (before >= 0) range[before].y = first + i;
  }
  if (i == count - 1) range[cell].y = first + count;
}

// In the order of ranks; to and from are what kernels write and read.
template <class T>
struct RecordExchange {
  Transport::Segments sent, received;
  Records<T> to, from;
};

// Segments that follow each other in memory are one place.
template <class T>
Records<T> places_of(const Transport::Segments& segments, std::size_t bytes) {
  Records<T> places{};
  const char* end = nullptr;
  unsigned records = 0;
  for (const Transport::Segment& segment : segments) {
    if (segment.data != end) {
      if (places.count == Records<T>::kMost) throw std::logic_error("segments in too many places");
      places.first[places.count] = records;
      places.data[places.count++] = reinterpret_cast<T*>(segment.data);
    }
    records += static_cast<unsigned>(segment.bytes / bytes);
    places.first[places.count] = records;
    end = segment.data + segment.bytes;
  }
  return places;
}

// Finds places for to[r] records for rank r and from[r] records of it, `bytes` from one to the
// next.
template <class T>
RecordExchange<T> place_records(Transport& transport, const std::vector<std::int64_t>& to,
                                const std::vector<std::int64_t>& from,
                                std::size_t bytes = sizeof(T)) {
  RecordExchange<T> t;
  const auto add = [&](Transport::Segments& segments, int rank, std::int64_t records) {
    if (records) segments.push_back({rank, static_cast<std::size_t>(records) * bytes, nullptr});
  };
  for (std::size_t r = 0; r < to.size(); ++r) {
    add(t.sent, static_cast<int>(r), to[r]);
    add(t.received, static_cast<int>(r), from[r]);
  }
  transport.place(t.sent, t.received);
  t.to = places_of<T>(t.sent, bytes);
  t.from = places_of<T>(t.received, bytes);
  return t;
}

// A row of blocks for each place.
template <class T>
dim3 grid_of(const Records<T>& places) {
  unsigned most = 0;
  for (int b = 0; b < places.count; ++b)
    most = std::max(most, places.first[b + 1] - places.first[b]);
  return {static_cast<unsigned>(blocks_for(static_cast<int>(most))),
          static_cast<unsigned>(places.count)};
}

// Runs a kernel with one thread for each of the records, if there are any.
template <class T, class... Parameters, class... Arguments>
void launch_records(const Records<T>& places, cudaStream_t stream, void (*kernel)(Parameters...),
                    Arguments&&... arguments) {
  if (places.count == 0) return;
  kernel<<<grid_of(places), kThreads, 0, stream>>>(std::forward<Arguments>(arguments)...);
  check_launch();
}

}  // namespace manymove::dpd
