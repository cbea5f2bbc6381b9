// SPDX-License-Identifier: BSD-3-Clause
// The GPU implementation that the paper describes (section 3), as the baseline on the same card:
// lists of up to four disks per cell in global memory (section 3.1), one thread for each active
// cell (Algorithm 2) with the order of the cells in memory of Algorithm 3, one launch for each set
// of cells, and one launch for the shift of the grid (Algorithm 4). Two things differ from the
// paper: the random numbers are from Philox instead of Saru, and several systems can share the
// launches.
//
// Coordinates are relative to the center of the cell, in diameters. Each system has a variant: with
// or without the shuffles of Table 1, or a rule of section 2.4 by which disks may leave their cell.
// With such a rule the lists are rebuilt after each set, and no disk moves farther from its cell
// than (width - 1) / 2, so that disks of two active cells cannot overlap.
//
// paper_kernel.py compiles this file with nvcc for a GPU and with the C++ compiler for a CPU.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lists.h"

struct Setup {
  std::int32_t systems, cells, moves_per_cell,
      may_leave;                               // may_leave: whether any system has kLeave
  std::int32_t sweeps, records, sample_every;  // of this run; 0: without samples
  std::int32_t block[2];                       // threads of a block
  float width, step;                           // of a cell; the largest displacement along an axis
  std::uint64_t seed, first_sweep;
};

namespace {

constexpr int kMostSystems = 64;

// A variant: what is shuffled, whether disks may leave their cell, and whether each disk is tried
// once in a sweep instead of n_m moves in each cell.
enum Variant : int { kShuffleParticles = 1, kShuffleSets = 2, kLeave = 4, kOnce = 8 };

// GlobalLists in global memory. The bits from 8 on of a state tell which disks were tried (kOnce).
struct GlobalLists : Lists {
  // A disk that no thread changes at the same time, through the read-only cache.
  FN Disk load(int cell, int slot) const {
#if defined(__CUDA_ARCH__)
    const float2 p = __ldg(reinterpret_cast<const float2*>(&at(cell, slot)));
    return {p.x, p.y};
#else
    return at(cell, slot);
#endif
  }
};

FN GlobalLists lists_of(const Setup& s, Disk* disks, std::int32_t* states, int system) {
  const std::size_t cells = static_cast<std::size_t>(s.cells) * s.cells;
  return {{disks + system * kSlots * cells, states + system * cells, s.cells}};
}

// Algorithm 2 for one cell, whose disks are own[slot * stride]. Returns the number of accepted
// moves in the upper, of trial moves in the lower half.
template <bool kMayLeave>
FN std::uint32_t visit(const Setup& s, const GlobalLists& l, int variant, int system,
                       std::uint64_t sweep, int column, int row, Disk* own, int stride) {
  const int cell = l.index(column, row), n = l.count(cell);
  const int number = row * l.edge + column;
  std::uint32_t tried = static_cast<std::uint32_t>(l.state[cell]) >> 8;
  if (n == 0) return 0;
  UNROLL
  for (int slot = 0; slot < kSlots; ++slot) own[slot * stride] = l.at(cell, slot);
  std::uint32_t word[4] = {};
  if ((variant & kShuffleParticles) && n > 1) {
    draw(word, s, system, sweep, number, kShuffle, 0);
    UNROLL
    for (int i = kSlots - 1; i > 0; --i) {  // a fixed number, which keeps the words in registers
      if (i >= n) continue;
      const int j =
          static_cast<int>(manymove::uniform_below(word[i], static_cast<std::uint32_t>(i + 1)));
      const Disk other = own[j * stride];
      own[j * stride] = own[i * stride];
      own[i * stride] = other;
      if (kMayLeave) {
        const std::uint32_t differ = (tried >> i ^ tried >> j) & 1u;
        tried ^= differ << i | differ << j;
      }
    }
  }
  const bool leave = kMayLeave && (variant & kLeave), once = kMayLeave && (variant & kOnce);
  const float half = 0.5f * s.width, margin = leave ? 0.5f * (s.width - 1.0f) - 1e-6f : 0.0f;
  const int columns[3] = {wrapped(column - 1, l.edge), column, wrapped(column + 1, l.edge)};
  const int rows[3] = {wrapped(row - 1, l.edge), row, wrapped(row + 1, l.edge)};
  std::uint32_t accepted = 0, trials = 0;
  const int moves = once ? n : s.moves_per_cell;
  int slot = 0;
  for (int move = 0; move < moves; ++move) {
    if (move % 2 == 0) draw(word, s, system, sweep, number, kMove, move / 2);
    const Disk old = own[slot * stride];
    // Chosen, not indexed, so that the words stay in registers.
    const std::uint32_t across = move % 2 ? word[2] : word[0];
    const std::uint32_t up = move % 2 ? word[3] : word[1];
    const Disk to = {old.x + s.step * symmetric(across), old.y + s.step * symmetric(up)};
    bool free = fabsf(to.x) < half + margin && fabsf(to.y) < half + margin;
    const bool skip = once && (tried >> slot & 1u);
    // Without an early exit: all places of all lists are compared, as in the paper.
    UNROLL
    for (int dr = -1; dr <= 1; ++dr) {
      const float oy = to.y - static_cast<float>(dr) * s.width;
      UNROLL
      for (int dc = -1; dc <= 1; ++dc) {
        const int there = l.index(columns[dc + 1], rows[dr + 1]);
        const float ox = to.x - static_cast<float>(dc) * s.width;
        const bool home = dc == 0 && dr == 0;
        UNROLL
        for (int other = 0; other < kSlots; ++other) {
          const Disk p = home ? own[other * stride] : l.load(there, other);
          const float x = p.x - ox, y = p.y - oy;
          free = free & ((home && other == slot) | !(x * x + y * y < 1.0f));
        }
      }
    }
    if (!skip) {
      ++trials;
      tried |= once ? 1u << slot : 0u;
      if (free) {
        own[slot * stride] = to;
        ++accepted;
      }
    }
    slot = slot + 1 == n ? 0 : slot + 1;
  }
  UNROLL
  for (int k = 0; k < kSlots; ++k) l.at(cell, k) = own[k * stride];
  if (kMayLeave) l.state[cell] = n | static_cast<std::int32_t>(tried << 8);
  return accepted << 16 | trials;
}

// Where a coordinate lies: -1, 0 or 1 cells away.
FN int away(float x, float half) { return x > half ? 1 : x < -half ? -1 : 0; }

// The list of a cell after disks have left their cells (section 2.4): first those that stay, then
// those of the neighbors that enter. All threads compute `away` of a disk alike.
FN void gather_again(const Setup& s, const GlobalLists& from, const GlobalLists& to, int column,
                     int row, std::int32_t* lost) {
  const int cell = from.index(column, row);
  const float half = 0.5f * s.width;
  int n = 0;
  std::uint32_t tried = 0;
  for (int k = 0; k < 9; ++k) {
    const int order = k == 0 ? 4 : k <= 4 ? k - 1 : k;  // the cell itself first
    const int dc = order % 3 - 1, dr = order / 3 - 1;
    const int source = from.index(wrapped(column + dc, from.edge), wrapped(row + dr, from.edge));
    const int many = from.count(source);
    for (int slot = 0; slot < many; ++slot) {
      Disk p = from.at(source, slot);
      if (away(p.x, half) != -dc || away(p.y, half) != -dr) continue;
      if (n == kSlots) {
        *lost = 1;
        break;
      }
      p.x += static_cast<float>(dc) * s.width;
      p.y += static_cast<float>(dr) * s.width;
      tried |= (static_cast<std::uint32_t>(from.state[source]) >> (8 + slot) & 1u) << n;
      to.at(cell, n++) = p;
    }
  }
  to.state[cell] = n | static_cast<std::int32_t>(tried << 8);
  for (; n < kSlots; ++n) to.at(cell, n) = {kNowhere, kNowhere};
}

// What the host draws for a sweep of each system: Algorithm 1, lines 2, 15 and 16.
struct Sweep {
  std::uint8_t order[kMostSystems];  // of the sets, two bits each
  std::uint8_t axis[kMostSystems];
  float distance[kMostSystems];
};

Sweep draw_sweep(const Setup& s, const std::int32_t* variants, std::uint64_t sweep) {
  Sweep d{};
  for (int system = 0; system < s.systems; ++system) {
    std::uint32_t word[4];
    d.order[system] =
        static_cast<std::uint8_t>(order_of_sets(s, system, sweep, variants[system] & kShuffleSets));
    draw(word, s, system, sweep, 0, kShift, 0);
    d.axis[system] = word[0] & 1u;
    d.distance[system] = 0.5f * s.width * symmetric(word[1]);
  }
  return d;
}

#if defined(__CUDACC__)

// One thread per active cell. Its disks are in shared memory.
template <bool kMayLeave>
__global__ void sub_sweep(Setup s, Sweep drawn, const std::int32_t* variants, Disk* disks,
                          std::int32_t* states, std::uint64_t sweep, int turn,
                          unsigned long long* moves) {
  extern __shared__ Disk shared[];
  const int system = static_cast<int>(blockIdx.z), set = drawn.order[system] >> 2 * turn & 3;
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int stride = static_cast<int>(blockDim.x * blockDim.y);
  Disk* const own = shared + threadIdx.y * blockDim.x + threadIdx.x;
  std::uint32_t both = 0;
  if (2 * x < s.cells && 2 * y < s.cells)
    both = visit<kMayLeave>(s, lists_of(s, disks, states, system), variants[system], system, sweep,
                            2 * x + (set & 1), 2 * y + (set >> 1), own, stride);
  const std::uint32_t trials = __reduce_add_sync(~0u, both & 0xFFFFu);
  const std::uint32_t accepted = __reduce_add_sync(~0u, both >> 16);
  if ((threadIdx.y * blockDim.x + threadIdx.x) % 32 == 0 && trials) {
    atomicAdd(moves + 2 * system, static_cast<unsigned long long>(trials));
    atomicAdd(moves + 2 * system + 1, static_cast<unsigned long long>(accepted));
  }
}

// One thread per cell: Algorithm 4, or the lists after a set if disks may leave their cells.
template <bool kShifted>
__global__ void gather(Setup s, Sweep drawn, Disk* from, std::int32_t* from_states, Disk* to,
                       std::int32_t* to_states, std::int32_t* lost) {
  const int system = static_cast<int>(blockIdx.z);
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= s.cells || y >= s.cells) return;
  const GlobalLists now = lists_of(s, from, from_states, system),
                    next = lists_of(s, to, to_states, system);
  if (kShifted)
    gather_shifted(s, now, next, x, y, drawn.axis[system], drawn.distance[system], lost);
  else
    gather_again(s, now, next, x, y, lost);
}

// One thread per cell. The counts of a block are added up in shared memory.
__global__ void sample(Setup s, Disk* disks, std::int32_t* states, int record,
                       unsigned long long* histograms) {
  __shared__ std::uint32_t bins[kBins];
  const int system = static_cast<int>(blockIdx.z),
            threads = static_cast<int>(blockDim.x * blockDim.y);
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  for (int bin = thread; bin < kBins; bin += threads) bins[bin] = 0;
  __syncthreads();
  if (x < s.cells && y < s.cells)
    count_pairs(s, lists_of(s, disks, states, system), x, y,
                [&](int bin) { atomicAdd(bins + bin, 1u); });
  __syncthreads();
  unsigned long long* const row =
      histograms + (static_cast<std::size_t>(system) * s.records + record) * kBins;
  for (int bin = thread; bin < kBins; bin += threads)
    if (bins[bin]) atomicAdd(row + bin, static_cast<unsigned long long>(bins[bin]));
}

// The systems on a GPU: one launch for each set, and one for the shift.
class Systems {
 public:
  Systems(const Setup& s, std::int32_t* variants, Disk* disks, std::int32_t* states,
          std::uint64_t* histograms, std::uint64_t* moves)
      : s_(s),
        places_(static_cast<std::size_t>(s.cells) * s.cells * s.systems),
        variants_(variants, s.systems),
        disks_(disks, places_ * kSlots),
        spare_(nullptr, places_ * kSlots),
        states_(states, places_),
        spare_states_(nullptr, places_),
        histograms_(reinterpret_cast<unsigned long long*>(histograms),
                    static_cast<std::size_t>(s.systems) * s.records * kBins),
        moves_(reinterpret_cast<unsigned long long*>(moves), 2 * s.systems),
        lost_(&lost_here_, 1),
        block_(s.block[0], s.block[1]) {}

  void turn(const Sweep& drawn, std::uint64_t sweep, int turn) {
    const std::size_t shared = sizeof(Disk) * kSlots * block_.x * block_.y;
    const dim3 grid = blocks(s_.cells / 2);
    if (s_.may_leave) {
      sub_sweep<true><<<grid, block_, shared>>>(s_, drawn, variants_.at, disks_.at, states_.at,
                                                sweep, turn, moves_.at);
      gather<false><<<blocks(s_.cells), block_>>>(s_, drawn, disks_.at, states_.at, spare_.at,
                                                  spare_states_.at, lost_.at);
      swap();
    } else {
      sub_sweep<false><<<grid, block_, shared>>>(s_, drawn, variants_.at, disks_.at, states_.at,
                                                 sweep, turn, moves_.at);
    }
  }
  void shift(const Sweep& drawn) {
    gather<true><<<blocks(s_.cells), block_>>>(s_, drawn, disks_.at, states_.at, spare_.at,
                                               spare_states_.at, lost_.at);
    swap();
  }
  void add(int record) {
    sample<<<blocks(s_.cells), block_>>>(s_, disks_.at, states_.at, record, histograms_.at);
  }
  const char* wait() {
    cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) error = cudaGetLastError();  // of a launch
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
  }
  const char* end() {
    if (const char* wrong = wait()) return wrong;
    disks_.back(), states_.back(), histograms_.back(), moves_.back(), lost_.back();
    return lost_here_ ? "a cell has more than four disks" : nullptr;
  }

 private:
  dim3 blocks(int edge) const {
    return {(static_cast<unsigned>(edge) + block_.x - 1) / block_.x,
            (static_cast<unsigned>(edge) + block_.y - 1) / block_.y,
            static_cast<unsigned>(s_.systems)};
  }
  void swap() {
    std::swap(disks_.at, spare_.at);
    std::swap(states_.at, spare_states_.at);
  }

  Setup s_;
  std::size_t places_;
  OnDevice<std::int32_t> variants_;
  OnDevice<Disk> disks_, spare_;
  OnDevice<std::int32_t> states_, spare_states_;
  OnDevice<unsigned long long> histograms_, moves_;
  std::int32_t lost_here_ = 0;
  OnDevice<std::int32_t> lost_;
  dim3 block_;
};

#else

// The systems on a CPU, one cell after the other.
class Systems {
 public:
  Systems(const Setup& s, std::int32_t* variants, Disk* disks, std::int32_t* states,
          std::uint64_t* histograms, std::uint64_t* moves)
      : s_(s),
        variants_(variants),
        disks_(disks),
        states_(states),
        histograms_(histograms),
        moves_(moves),
        now_(copy(disks, places() * kSlots)),
        spare_(now_),
        now_states_(copy(states, places())),
        spare_states_(now_states_) {}

  void turn(const Sweep& drawn, std::uint64_t sweep, int turn) {
    for (int system = 0; system < s_.systems; ++system) {
      const int set = drawn.order[system] >> 2 * turn & 3;
      const GlobalLists l = lists_of(s_, now_.data(), now_states_.data(), system);
      for (int row = set >> 1; row < s_.cells; row += 2)
        for (int column = set & 1; column < s_.cells; column += 2) {
          Disk own[kSlots];
          const std::uint32_t both =
              s_.may_leave
                  ? visit<true>(s_, l, variants_[system], system, sweep, column, row, own, 1)
                  : visit<false>(s_, l, variants_[system], system, sweep, column, row, own, 1);
          moves_[2 * system] += both & 0xFFFFu;
          moves_[2 * system + 1] += both >> 16;
        }
    }
    if (s_.may_leave)
      each([&](const GlobalLists& l, const GlobalLists& to, int, int column, int row) {
        gather_again(s_, l, to, column, row, &lost_);
      });
  }
  void shift(const Sweep& drawn) {
    each([&](const GlobalLists& l, const GlobalLists& to, int system, int column, int row) {
      gather_shifted(s_, l, to, column, row, drawn.axis[system], drawn.distance[system], &lost_);
    });
  }
  void add(int record) {
    for (int system = 0; system < s_.systems; ++system) {
      const GlobalLists l = lists_of(s_, now_.data(), now_states_.data(), system);
      std::uint64_t* const row =
          histograms_ + (static_cast<std::size_t>(system) * s_.records + record) * kBins;
      for (int k = 0; k < s_.cells * s_.cells; ++k)
        count_pairs(s_, l, k % s_.cells, k / s_.cells, [&](int bin) { ++row[bin]; });
    }
  }
  const char* wait() { return nullptr; }
  const char* end() {
    for (std::size_t k = 0; k < now_.size(); ++k) disks_[k] = now_[k];
    for (std::size_t k = 0; k < now_states_.size(); ++k) states_[k] = now_states_[k];
    return lost_ ? "a cell has more than four disks" : nullptr;
  }

 private:
  std::size_t places() const { return static_cast<std::size_t>(s_.cells) * s_.cells * s_.systems; }
  template <class T>
  static std::vector<T> copy(const T* data, std::size_t n) {
    return {data, data + n};
  }
  template <class Task>
  void each(Task task) {
    for (int system = 0; system < s_.systems; ++system) {
      const GlobalLists l = lists_of(s_, now_.data(), now_states_.data(), system),
                        to = lists_of(s_, spare_.data(), spare_states_.data(), system);
      for (int k = 0; k < s_.cells * s_.cells; ++k) task(l, to, system, k % s_.cells, k / s_.cells);
    }
    std::swap(now_, spare_);
    std::swap(now_states_, spare_states_);
  }

  Setup s_;
  std::int32_t* variants_;
  Disk* disks_;
  std::int32_t* states_;
  std::uint64_t *histograms_, *moves_;
  std::vector<Disk> now_, spare_;
  std::vector<std::int32_t> now_states_, spare_states_;
  std::int32_t lost_ = 0;
};

#endif

}  // namespace

// Runs all systems. variants (systems) has a Variant each; disks (systems, kSlots, cells, 2) and
// states (systems, cells) hold the lists before and after; the counted pairs are added to
// histograms (systems, records, kBins), trial and accepted moves to moves (systems, 2), and the
// wall time of the sweeps to *seconds. Returns nullptr or the text of an error.
extern "C" const char* paper_kernel(const Setup* setup, std::int32_t* variants, float* disks,
                                    std::int32_t* states, std::uint64_t* histograms,
                                    std::uint64_t* moves, double* seconds) {
  const Setup& s = *setup;
  if (s.systems > kMostSystems) return "there are more than 64 systems";
  if (s.width < 1 || s.cells % 2 || s.cells < 4) return "the cells do not fit";
  if (s.block[0] * s.block[1] % 32) return "the threads of a block do not fill its warps";
  Systems systems(s, variants, reinterpret_cast<Disk*>(disks), states, histograms, moves);
  if (const char* wrong = systems.wait()) return wrong;
  const auto began = std::chrono::steady_clock::now();
  const int per_record = s.sweeps / s.records;
  for (int done = 1; done <= s.sweeps; ++done) {
    const std::uint64_t sweep = s.first_sweep + static_cast<std::uint64_t>(done);
    const Sweep drawn = draw_sweep(s, variants, sweep);
    for (int turn = 0; turn < 4; ++turn) systems.turn(drawn, sweep, turn);
    systems.shift(drawn);
    if (s.sample_every && done % s.sample_every == 0) systems.add((done - 1) / per_record);
  }
  if (const char* wrong = systems.wait()) return wrong;
  *seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return systems.end();
}
