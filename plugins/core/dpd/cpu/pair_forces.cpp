// SPDX-License-Identifier: BSD-3-Clause
#include "../pair_forces.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "../../runtime/parallel_for.h"
#include "../scalar_transport.h"
#include "pair_kernels.h"

namespace manymove::dpd {
namespace {

Kernels kernels() { return best_level<Kernels>(MANYMOVE_LEVELS); }

constexpr int kRows = 256;            // of a block: what a thread takes at a time
constexpr int kBlocksPerThread = 64;  // in a wave: bounds the memory
constexpr int kPartsPerThread = 2;    // of the particles, when forces are added

// Indices from low to high - 1; empty at first.
struct Interval {
  int low = std::numeric_limits<int>::max(), high = 0;

  bool empty() const { return low >= high; }
  bool contains(int k) const { return k >= low && k < high; }
  bool contains(const Interval& o) const { return o.low >= low && o.high <= high; }
  bool meets(const Interval& o) const { return o.low < high && low < o.high; }
  void include(const Interval& o) {
    low = std::min(low, o.low);
    high = std::max(high, o.high);
  }
  Interval part(int k, int parts) const {
    if (empty()) return {};
    const auto bound = [&](std::int64_t n) {
      // In 64 bits: the product of a number of particles and one of parts.
      return low + static_cast<int>((high - low) * n / parts);
    };
    return {bound(k), bound(k + 1)};
  }
};

// The contributions of the pairs of some rows, and the particles they go to: neighbors in memory
// are neighbors in space, ghosts apart.
struct Block {
  std::unique_ptr<PairContribution[]> contributions;
  std::int64_t room = 0;
  int count = 0;
  Interval owned, ghosts;
  std::vector<int> with_ghost;  // which of the pairs

  void make_room(std::int64_t pairs) {
    if (pairs <= room) return;
    room = 0;
    // A quarter more than is needed, so that fluctuations of the lists seldom allocate memory.
    contributions = std::make_unique_for_overwrite<PairContribution[]>(pairs + pairs / 4);
    room = pairs + pairs / 4;
  }
  void find_targets(int number_owned) {
    owned = ghosts = {};
    with_ghost.clear();
    for (int n = 0; n < count; ++n) {
      const int i = contributions[n].i, j = contributions[n].j;
      owned.include({i, i + 1});
      (j < number_owned ? owned : ghosts).include({j, j + 1});
      if (j >= number_owned) with_ghost.push_back(n);
    }
  }
};

// A pair of particles that carry scalars, and what both of them receive.
struct ScalarContribution {
  int i, j;
  Vector<double> r;
  PairForce<double> force;
  Vector<double> flux[2];
};

// Finds the pairs of rows from first to before last, in the order of the list.
void find_scalar_pairs(const PairTable& table, const Particles& particles, const NeighborList& list,
                       const NoiseKey& step, int first, int last,
                       std::vector<ScalarContribution>& found) {
  constexpr int kIndexMask = 0x1fffffff;  // bits of an entry of the host's list
  found.clear();
  for (int row = first; row < last; ++row) {
    const int i = list.particle[row];
    for (int n = 0; n < list.number[i]; ++n) {
      const int j = list.first[i][n] & kIndexMask;
      const PairCoefficients& c =
          table.coefficients[particles.type[i] * (table.types + 1) + particles.type[j]];
      Vector<double> r =
          vector_from<double>(particles.position[i]) - vector_from<double>(particles.position[j]);
      const Vector<double> v =
          vector_from<double>(particles.velocity[i]) - vector_from<double>(particles.velocity[j]);
      if (!(dot(r, r) < table.largest_cutoff * table.largest_cutoff)) continue;
      const std::uint32_t tag_i = particles.tag[i], tag_j = particles.tag[j];
      // As in PairLoop::draw_transverse().
      NoiseKey key = step;
      std::uint32_t turn = turn_of_pair(tag_i, tag_j);
      if (particles.image) {
        const int* const shift = particles.image[j];
        if (const std::uint32_t image = image_of_pair(shift, tag_i, tag_j)) {
          key = image_key(step, image);
          turn = order_of_pair(shift, tag_i, tag_j) > 0 ? 0 : half_turn;
        }
      }
      const PairLaw<double> law = {c.a, c.gamma, c.sigma, c.inverse_cutoff, c.weight_exponent};
      const ScalarLaw<double> scalars = scalar_law_of<double>(c.scalars);
      float of_force;
      const Vector<float> exchanged = vector_and_scalar_noise(key, tag_i, tag_j, turn, of_force);
      ScalarPair<double> pair = {vector_from<double>(particles.scalars[i]),
                                 vector_from<double>(particles.scalars[j]),
                                 dot(r, r),
                                 dot(r, v),
                                 static_cast<double>(of_force),
                                 vector_of<double>(exchanged)};
      ScalarContribution& its = found.emplace_back(ScalarContribution{i, j, r, {}, {}});
      its.force = scalar_pair(table.scalars, law, scalars, pair, its.flux[0]);
      // The other particle has the same force, and receives what the first one does not keep.
      std::swap(pair.mine, pair.other);
      pair.exchanged = Vector<double>{0, 0, 0} - pair.exchanged;
      scalar_pair(table.scalars, law, scalars, pair, its.flux[1]);
    }
  }
}

// Returns the pair's share of the energy.
double add_scalar_pair(const ScalarContribution& pair, const PairResult& result) {
  const auto& [i, j, r, force, flux] = pair;
  const double f[3] = {r.x * force.over_distance, r.y * force.over_distance,
                       r.z * force.over_distance};
  const bool reacts = j < result.reacting;
  for (const int end : {0, 1}) {
    if (end == 1 && !reacts) continue;
    const int particle = end == 0 ? i : j;
    const double q[kScalars] = {flux[end].x, flux[end].y, flux[end].z};
    for (int a = 0; a < 3; ++a) result.force[particle][a] += end == 0 ? f[a] : -f[a];
    for (int k = 0; k < kScalars; ++k) result.flux[particle][k] += q[k];
  }
  if (result.callback)
    result.callback->call(result.callback->context, i, j, force.energy, force.over_distance,
                          nullptr, r.x, r.y, r.z);
  return (reacts ? 1.0 : 0.5) * force.energy;
}

}  // namespace

// One call. The contributions of a wave of blocks are computed in parallel, then added in parallel:
// those to one particle by one thread, in the order of the list.
struct PairForces::State {
  explicit State(int threads) : pool(threads), wave(pool.size() * kBlocksPerThread) {}

  ThreadPool pool;
  std::vector<Block> wave;
  std::vector<std::vector<ScalarContribution>> scalar_wave;  // of the same blocks
  std::vector<double> energies;                              // of all blocks

  const PairTable* table;
  const Particles* particles;
  const NeighborList* list;
  const PairCallback* callback;
  NoiseKey key;
  decltype(Kernels::add_rows) add_rows;
  int reacting, first_block, blocks_in_wave;
  double (*force)[3];
  Interval owned, ghosts;  // that the wave contributes to

  // To the forces, or into `contributions`, whose number it returns.
  int rows(int block, PairContribution* contributions) {
    int count;
    const int first = block * kRows;
    add_rows(*table, *particles, *list, key,
             {first, std::min(first + kRows, list->count), reacting, force, contributions, &count,
              energies.empty() ? nullptr : &energies[block]},
             callback);
    return count;
  }

  void compute(int item) {
    Block& block = wave[item];
    const int first = (first_block + item) * kRows, last = std::min(first + kRows, list->count);
    std::int64_t pairs = 0;
    // At most so many are within the cutoff.
    for (int k = first; k < last; ++k) pairs += list->number[list->particle[k]];
    block.make_room(pairs);
    block.count = rows(first_block + item, block.contributions.get());
    block.find_targets(particles->owned);
  }

  // The pairs of a wave of blocks are computed in parallel, then added by one thread, which takes a
  // small part of the time.
  void add_scalars(const PairTable& of, const Particles& all, const NeighborList& pairs,
                   const NoiseKey& step, const PairResult& result) {
    scalar_wave.resize(wave.size());
    const int rows_in_wave = kRows * static_cast<int>(wave.size());
    double energy = 0;
    for (int first = 0; first < pairs.count; first += rows_in_wave) {
      const int last = std::min(first + rows_in_wave, pairs.count),
                blocks = (last - first + kRows - 1) / kRows;
      for_each_item(pool, blocks, [&](int block, int) {
        const int row = first + block * kRows;
        find_scalar_pairs(of, all, pairs, step, row, std::min(row + kRows, last),
                          scalar_wave[block]);
      });
      for (int block = 0; block < blocks; ++block)
        for (const ScalarContribution& pair : scalar_wave[block])
          energy += add_scalar_pair(pair, result);
    }
    if (result.energy) *result.energy = energy;
  }

  int parts() const { return kPartsPerThread * pool.size(); }

  // To one part of the particles.
  void add(int item) {
    const Interval mine = owned.part(item, parts()), my_ghosts = ghosts.part(item, parts());
    // Blocks in the order of the list: the sum of a particle has the same order for any number of
    // threads.
    for (int b = 0; b < blocks_in_wave; ++b) {
      const Block& block = wave[b];
      if (mine.meets(block.owned)) {
        const bool all = mine.contains(block.owned);
        for (int n = 0; n < block.count; ++n) {
          const PairContribution& pair = block.contributions[n];
          if (all || mine.contains(pair.i))
            for (int a = 0; a < 3; ++a) force[pair.i][a] += pair.force[a];
          if (pair.j < particles->owned && (all || mine.contains(pair.j)))
            for (int a = 0; a < 3; ++a) force[pair.j][a] -= pair.force[a];
        }
      }
      if (reacting > particles->owned && my_ghosts.meets(block.ghosts)) {
        for (const int n : block.with_ghost) {
          const PairContribution& pair = block.contributions[n];
          if (my_ghosts.contains(pair.j))
            for (int a = 0; a < 3; ++a) force[pair.j][a] -= pair.force[a];
        }
      }
    }
  }

  void run_wave() {
    for_each_item(pool, blocks_in_wave, [this](int block, int) { compute(block); });
    owned = ghosts = {};
    for (int b = 0; b < blocks_in_wave; ++b) {
      owned.include(wave[b].owned);
      ghosts.include(wave[b].ghosts);
    }
    // Each particle belongs to one part, so that no two threads add to the same force.
    for_each_item(pool, parts(), [this](int part, int) { add(part); });
  }
};

PairForces::PairForces(int threads) : state_(std::make_unique<State>(threads)) {}
PairForces::~PairForces() = default;

void PairForces::add(const PairTable& table, const Particles& particles, const NeighborList& list,
                     std::uint64_t seed, std::uint64_t draw, const PairResult& result) {
  if (table.scalars)
    return state_->add_scalars(table, particles, list, noise_key(seed, draw), result);
  State& s = *state_;
  const int blocks = (list.count + kRows - 1) / kRows, wave = static_cast<int>(s.wave.size());
  s.table = &table;
  s.particles = &particles;
  s.list = &list;
  s.callback = result.callback;
  s.key = noise_key(seed, draw);
  s.add_rows = kernels().add_rows;
  s.reacting = result.reacting;
  s.force = result.force;
  s.energies.assign(result.energy ? blocks : 0, 0.0);
  // One thread adds forces as it finds them. So do callbacks of a host, which is asked in the order
  // of the list.
  if (result.callback || s.pool.size() == 1) {
    for (int block = 0; block < blocks; ++block) s.rows(block, nullptr);
  } else {
    // A wave of blocks limits the memory for contributions.
    for (s.first_block = 0; s.first_block < blocks; s.first_block += wave) {
      s.blocks_in_wave = std::min(wave, blocks - s.first_block);
      s.run_wave();
    }
  }
  if (result.energy) *result.energy = std::accumulate(s.energies.begin(), s.energies.end(), 0.0);
}

void PairForces::find_densities(const PairTable& table, const Particles& particles,
                                const NeighborList& list, double* density) {
  const auto find = kernels().find_densities;
  for_each_item(state_->pool, (list.count + kRows - 1) / kRows, [&](int block, int) {
    find(table, particles, list, block * kRows, std::min((block + 1) * kRows, list.count), density);
  });
}

double PairForces::bytes() const {
  double bytes = 8.0 * static_cast<double>(state_->energies.capacity());
  for (const Block& block : state_->wave)
    bytes += static_cast<double>(sizeof(PairContribution)) * static_cast<double>(block.room);
  for (const auto& found : state_->scalar_wave)
    bytes += static_cast<double>(sizeof found[0]) * static_cast<double>(found.capacity());
  return bytes;
}

void draw_noise(std::uint64_t seed, std::uint64_t step, int count, const std::uint32_t* tag_i,
                const std::uint32_t* tag_j, float* noise) {
  kernels().draw_noise(noise_key(seed, step), count, tag_i, tag_j, noise);
}

}  // namespace manymove::dpd
