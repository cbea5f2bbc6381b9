// SPDX-License-Identifier: BSD-3-Clause
#include "box_moves.h"

#include <atomic>

#include "../../runtime/launch.cuh"
#include "../../runtime/waits.cuh"
#include "../../runtime/warp.cuh"

namespace manymove::hard_particles {
namespace {

constexpr int kThreads = BoxMoves::kThreads;
constexpr int kLanes = BoxMoves::kLanes;  // threads that share a cell

unsigned blocks(std::size_t threads) {
  return static_cast<unsigned>(blocks_for(threads, std::size_t{kThreads}));
}

std::size_t cells_in(const Geometry& g) {
  return std::size_t{1} * g.cells[0] * g.cells[1] * g.cells[2];
}

// What is known before the least ratio is, and where the device and the host find the decision.
struct PendingVolume {
  VolumeOutcomes outcomes;
  BoxChoice* choice;
  volatile BoxAnswer* answer;
  unsigned int number;  // of the answer, by which the host sees that it is there
};

// Chooses among the outcomes, once all have looked for the least ratio.
__device__ void choose(double least, const PendingVolume& pending) {
  const int outcome = outcome_of(pending.outcomes, least);
  const bool host = for_host(pending.outcomes, outcome);
  pending.choice->for_host = host;
  if (!host) pending.choice->scale = pending.outcomes.scale[outcome];
  pending.answer->least_ratio = least;
  pending.answer->for_host = host;
  // The host sees the number only after what it stands for.
  __threadfence_system();
  pending.answer->number = pending.number;
}

// The bits of positive float64 numbers are in their order, so that the least of them is an atomic
// minimum of integers.
__device__ double ratio_of(unsigned long long bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}

// For one thread, after a cycle that has looked for the least ratio.
__global__ void choose_kernel(double most, unsigned int search,
                              const __grid_constant__ PendingVolume pending) {
  let_next_kernel_start();
  wait_for_former_kernel();
  const double least = fmin(most, ratio_of(pending.choice->found[search % 3]));
  // The searches before are used up, and the next one begins without a ratio.
  for (unsigned long long& found : pending.choice->found) found = kNoRatio;
  choose(least, pending);
}

// Contributes to the least ratio of all pairs, and calls found(least) in the last of `blocks`
// blocks to end, which sees what all others have found.
template <int D, Contact C, class Found>
__device__ __forceinline__ void find_least_ratio(const Geometry& g, const RatioSearch& search,
                                                 const Sphere* spheres, const std::uint32_t* counts,
                                                 std::int64_t cells, unsigned int blocks,
                                                 Found found) {
  const auto& [reference, wanted, choice, answer] = search;
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // q = min r_ij^2 / sigma_ij^2 (docs/theory/constant_pressure.md, section 3). A minimum does not
  // depend on the order in which blocks contribute.
  double mine = wanted.most;
  if (index / kLanes < cells) {
    int cell[3];
    cell_at(g, index / kLanes, cell);
    mine = least_ratio_of<D, C, kLanes>(g, reference, wanted, spheres, counts, cell,
                                        static_cast<int>(index % kLanes), mine);
  }
  mine = warp_reduce(mine, [](double a, double b) { return fmin(a, b); });
  if (threadIdx.x % 32 == 0 && mine < wanted.most) {
    atomicMin(&choice->least, static_cast<unsigned long long>(__double_as_longlong(mine)));
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  // Each block has fenced its minimum before this count, so that the last one sees all of them.
  if (atomicAdd(&choice->blocks, 1u) != blocks - 1) return;
  __threadfence();
  choice->blocks = 0;
  found(fmin(wanted.most, ratio_of(atomicExch(&choice->least, kNoRatio))));
}

template <int D, Contact C>
__global__ void __launch_bounds__(kThreads)
    least_ratio_kernel(const __grid_constant__ Geometry g,
                       const __grid_constant__ RatioSearch search, const Sphere* spheres,
                       const std::uint32_t* counts, std::int64_t cells,
                       const __grid_constant__ PendingVolume pending) {
  find_least_ratio<D, C>(g, search, spheres, counts, cells, gridDim.x,
                         [&](double least) { choose(least, pending); });
}

// The same for many systems, with a row of blocks for each. The host waits for their end.
template <int D, Contact C>
__global__ void __launch_bounds__(kThreads) search_kernel(const System* systems) {
  const System& system = systems[blockIdx.y];
  const std::int64_t cells = counted_cells<D>(system.g);
  const auto blocks = static_cast<unsigned int>(blocks_for(cells * kLanes, kThreads));
  // Rows are as long as the largest system needs.
  if (!system.search.answer || blockIdx.x >= blocks) return;
  __shared__ Geometry g;
  __shared__ RatioSearch search;
  copy_to_block(g, system.g);
  copy_to_block(search, system.search);
  __syncthreads();
  const int now = system.cycles & 1;
  find_least_ratio<D, C>(g, search, system.spheres[now], system.counts[now], cells, blocks,
                         [&](double least) { search.answer->least_ratio = least; });
}

// The pairs that may cross a range, for which there is room; `number` counts all of them.
struct CrossingSearch {
  Law law;
  StepView steps;
  CrossingsWanted wanted;
  Crossing* found;
  unsigned int room;
  unsigned int* number;
};

// A thread for each cell.
template <int D>
__global__ void __launch_bounds__(kThreads)
    crossings_kernel(const __grid_constant__ Geometry g,
                     const __grid_constant__ CrossingSearch search, const Sphere* spheres,
                     const std::uint32_t* counts, std::int64_t cells) {
  const auto& [law, steps, wanted, found, room, number] = search;
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= cells) return;
  int cell[3];
  cell_at(g, index, cell);
  for (int slot = 0; slot < static_cast<int>(counts[index]); ++slot)
    for_pairs<D>(g, spheres, counts, wanted.range, cell, slot,
                 [&](std::uint32_t i, std::uint32_t j, float dx, float dy, float dz) {
                   const float d[3] = {dx, dy, dz};
                   crossings_of(steps, law, wanted, i, j, d, [&](const Crossing& pair) {
                     const unsigned int at = atomicAdd(number, 1u);
                     if (at < room) found[at] = pair;
                   });
                 });
}

// The i-th diameter of an additive mixture (types: 0), or contact distance of a pair of types.
__device__ __forceinline__ void rescale_one(const double* reference, std::size_t i, int types,
                                            double unit, const LawTables& tables) {
  if (types == 0) {
    tables.diameters[i] = diameter_in_units(reference[i], unit);
    tables.labels[i] = radius_in_units(reference[i], unit);
    return;
  }
  // In units of u = (V / prod_a E_a)^(1/D) (section 2): sigma^2 for the exact predicate, and the
  // float32 sigma for its estimate.
  const double sigma = reference[i] / unit;
  tables.contacts[i] = sigma * sigma;
  tables.sigmas[i] = static_cast<float>(sigma);
  const auto type = static_cast<int>(i / types);
  if (tables.radii && static_cast<int>(i % types) == type)
    tables.radii[type] = radius_in_units(reference[i], unit).radius;
}

// A thread for each value. The unit of length is the one that was chosen, if there is a choice.
__global__ void rescale_kernel(const double* reference, std::size_t count, int types,
                               const BoxChoice* choice, double unit, const LawTables tables) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count || (choice && choice->for_host)) return;
  rescale_one(reference, i, types, choice ? choice->scale.unit : unit, tables);
}

__global__ void rescale_systems_kernel(const System* systems) {
  const Rescaling& r = systems[blockIdx.y].rescaling;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < r.count) rescale_one(r.reference, i, r.types, r.unit, r.tables);
}

// A thread for each cell of the former grid.
__global__ void change_cells_kernel(const __grid_constant__ Geometry from, const Sphere* spheres,
                                    const std::uint32_t* counts, std::int64_t cells,
                                    const __grid_constant__ Geometry to, Sphere* new_spheres,
                                    std::uint32_t* new_counts, unsigned int* corrupt) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= cells) return;
  int cell[3];
  cell_at(from, index, cell);
  for (std::uint32_t s = 0; s < counts[index]; ++s) {
    const Sphere p = spheres[index * from.slots + s];
    const float local[3] = {p.x, p.y, p.z};
    float moved[3] = {0, 0, 0};
    std::int64_t there = 0;
    for (int a = 2; a >= 0; --a) {
      std::int64_t at = 0;
      if (to.cells[a] > 1) {  // an axis of the system, which has at least three cells
        const auto half = static_cast<std::int64_t>(to.half[a]);
        // The place on the lattice, (2 c + 1) H + local, stays; c' = floor(place / 2 H') is its
        // cell in the other grid.
        const std::int64_t x = (2 * cell[a] + 1) * static_cast<std::int64_t>(from.half[a]) +
                               static_cast<std::int64_t>(local[a]);
        at = x / (2 * half);
        moved[a] = static_cast<float>(x - (2 * at + 1) * half);
      }
      there = there * to.cells[a] + at;
    }
    const std::uint32_t slot = atomicAdd(new_counts + there, 1u);
    if (slot < static_cast<std::uint32_t>(to.slots))
      new_spheres[there * to.slots + slot] = {moved[0], moved[1], moved[2], p.id};
    else
      *corrupt = 1;
  }
}

}  // namespace

BoxMoves::BoxMoves(const State& s, cudaStream_t stream)
    : contacts_(on_device(s.lattice.contacts, stream)),
      sigmas_(on_device(s.parameters.contacts, stream)),
      choice_(1) {
  const BoxChoice none{kNoRatio, 0, 0, scale_of(s), {kNoRatio, kNoRatio, kNoRatio}};
  choice_.upload(&none, stream);
}

PairSearch BoxMoves::search(const State& s, const double* diameters) {
  return {choice_.data()->found + searches_ % 3, pair_reach(s),
          s.distances.largest * s.distances.largest, diameters, contacts_.data()};
}

void BoxMoves::begin(State& s, const LawTables& tables, const Sphere* spheres,
                     const std::uint32_t* counts, bool searched, bool deferred,
                     cudaStream_t stream) {
  const LeastRatio wanted = least_ratio_wanted(s);
  // Ranks decide together, on the host, and energies are not known in advance.
  const VolumeOutcomes outcomes =
      s.ranks || !s.parameters.steps.empty() ? VolumeOutcomes{} : foretell_volume(s, wanted.most);
  begun_ = true;
  deferred_ = deferred;
  if (deferred) {
    BoxChoice* const all = choice_.data();
    next_ = {all->found + searches_ % 3,
             all->found + (searches_ + 2) % 3,
             wanted.most,
             answer_.get(),
             ++number_,
             outcomes};
    ++searches_;
    return;
  }
  const PendingVolume pending{outcomes, choice_.data(), answer_.get(), ++number_};
  if (searched) {
    launch_kernel(&choose_kernel, 1, 1, 0, stream, waits_for_former_kernel(&choose_kernel),
                  wanted.most, searches_++, pending);
  } else {
    const std::size_t here = s.row_cells() * static_cast<std::size_t>(s.rows());
    const auto cells = static_cast<std::int64_t>(here);
    const auto kernel = with_particles(s.dimensions(), s.distances.contact, [](auto policy) {
      using P = decltype(policy);
      return &least_ratio_kernel<P::kDimensions, P::kContact>;
    });
    kernel<<<blocks(here * kLanes), kThreads, 0, stream>>>(
        s.local(), RatioSearch{reference(s, tables), wanted, choice_.data(), answer_.get()},
        spheres, counts, cells, pending);
    check_launch();
  }
  rescale(rescaling(s, tables), choice_.data(), stream);
}

Law BoxMoves::reference(const State& s, const LawTables& tables) const {
  Law law = reference_law(s);
  law.labels = tables.labels;
  law.diameters = tables.reference;
  law.contacts = contacts_.data();
  return law;
}

BoxAnswer BoxMoves::end(cudaStream_t stream) {
  const volatile BoxAnswer* const answer = answer_.get();
  for (unsigned int look = 1; answer->number != number_; ++look) {
    if (look % 4096 != 0) continue;
    if (has_ended(stream, "box move") && answer->number != number_)
      throw std::runtime_error("CUDA: a box move has left no answer");
  }
  begun_ = false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return *answer_;
}

std::vector<Crossing> BoxMoves::crossings(const State& s, const Law& law, const StepView& steps,
                                          const Sphere* spheres, const std::uint32_t* counts,
                                          cudaStream_t stream) {
  const CrossingsWanted wanted = crossings_wanted(s);
  const std::size_t cells = s.row_cells() * static_cast<std::size_t>(s.rows());
  const auto kernel = s.dimensions() == 2 ? &crossings_kernel<2> : &crossings_kernel<3>;
  while (true) {
    number_of_crossings_.clear(stream);
    kernel<<<blocks(cells), kThreads, 0, stream>>>(
        s.local(),
        CrossingSearch{law, steps, wanted, crossings_.data(),
                       static_cast<unsigned int>(crossings_.size()), number_of_crossings_.data()},
        spheres, counts, static_cast<std::int64_t>(cells));
    check_launch();
    const std::size_t number = number_of_crossings_.values(stream)[0];
    if (number > crossings_.size()) {
      crossings_ = DeviceBuffer<Crossing>(number + number / 2);
      continue;
    }
    std::vector<Crossing> found(number);
    if (number) crossings_.download(found.data(), stream, number);
    return found;
  }
}

Rescaling BoxMoves::rescaling(const State& s, const LawTables& tables) const {
  switch (s.distances.contact) {
    case Contact::one_size:
      return {};
    case Contact::additive:
      return {tables.reference, s.particles, 0, s.unit, tables};
    default:
      return {sigmas_.data(), sigmas_.size(), static_cast<int>(s.distances.of_types.size()), s.unit,
              tables};
  }
}

void BoxMoves::rescale(const Rescaling& r, const BoxChoice* choice, cudaStream_t stream) {
  if (r.count == 0) return;
  rescale_kernel<<<blocks(r.count), kThreads, 0, stream>>>(r.reference, r.count, r.types, choice,
                                                           r.unit, r.tables);
  check_launch();
}

RatioSearch BoxMoves::search_of_all(const State& s, const LawTables& tables) const {
  return {reference(s, tables), least_ratio_wanted(s), choice_.data(), answer_.get()};
}

void (*BoxMoves::search_of_systems(int dimensions, Contact contact))(const System*) {
  return with_particles(dimensions, contact, [](auto policy) {
    using P = decltype(policy);
    return &search_kernel<P::kDimensions, P::kContact>;
  });
}

void (*BoxMoves::rescale_of_systems())(const System*) { return &rescale_systems_kernel; }

void BoxMoves::change_cells(const Geometry& from, const Sphere* spheres,
                            const std::uint32_t* counts, const Geometry& to, Sphere* new_spheres,
                            std::uint32_t* new_counts, unsigned int* corrupt, cudaStream_t stream) {
  check(cudaMemsetAsync(new_counts, 0, cells_in(to) * sizeof(std::uint32_t), stream), "clear");
  change_cells_kernel<<<blocks(cells_in(from)), kThreads, 0, stream>>>(
      from, spheres, counts, static_cast<std::int64_t>(cells_in(from)), to, new_spheres, new_counts,
      corrupt);
  check_launch();
}

}  // namespace manymove::hard_particles
