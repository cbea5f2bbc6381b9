// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine: a sweep by one of the schedules, and what is measured between sweeps.
#include <memory>
#include <optional>
#include <utility>

#include "../../runtime/digest.h"
#include "brush.h"
#include "one_by_one.h"
#include "tree.h"

namespace manymove::coulomb {
namespace {

class CpuEngine final : public EngineBase {
 public:
  CpuEngine(State state, int threads, const ChangeTree& change)
      : EngineBase(std::move(state)), sweep_(state_, threads) {
    state_.parameters.threads_per_particle = 1;
    if (method() == Method::brush) brush_.emplace(sweep_);
    if (method() == Method::tree) tree_.emplace(sweep_, change);
  }

  void run(std::uint64_t sweeps) override {
    on_all([&] {
      for (; sweeps > 0; --sweeps) one_sweep();
    });
  }

  double energy() const override {
    sweep_.put_all();
    const std::size_t n = sweep_.ions();
    std::vector<__int128> of_thread(static_cast<std::size_t>(sweep_.pool.size()));
    __int128 total = 0;
    on_all([&] {
      for_blocks_of_share([&](std::size_t first, std::size_t end, int thread) {
        for (std::size_t i = first; i < end; ++i) {
          const Site& at = state_.sites[i];
          const auto by = [&](IndexRange range) {
            return sweep_.kernels.potential(state_.rules, sweep_.partners(), range, at);
          };
          // 2 U / l_B = sum_i z_i sum_(j != i) z_j psi(r_ij), in quanta: 128 bits hold the sum over
          // i.
          of_thread[thread] +=
              nearest_integer(at.charge * static_cast<double>(by({0, i}) + by({i + 1, n})));
        }
      });
      for (const __int128 part : of_thread) total += part;
      // The upper bits and the lower 32: no sum over ranks overflows.
      std::uint64_t halves[2] = {static_cast<std::uint64_t>(static_cast<std::int64_t>(total >> 32)),
                                 static_cast<std::uint64_t>(total & 0xffffffff)};
      sweep_.shares.add(halves, 2);
      total = (static_cast<__int128>(static_cast<std::int64_t>(halves[0])) << 32) + halves[1];
    });
    return static_cast<double>(total) * state_.rules.strength / 2 + energy_beside_pairs(state_);
  }

  void set_positions(const double* xyz, const std::int32_t* image) override {
    on_all([&] {
      if (state_.ranks) {
        Digest digest;
        digest.add(xyz, 3 * sweep_.ions() * sizeof *xyz);
        if (image) digest.add(image, 3 * sweep_.ions() * sizeof *image);
        check_same(*state_.ranks, digest.value());
      }
      with_agreement([&] { manymove::coulomb::set_positions(state_, xyz, image); });
      if (tree_) tree_->fill();
    });
  }

  void adopt(const HostParticles& host) override {
    // write_positions() leaves alone the ions that are still here.
    left_ = state_.sites;
    trace_ = trace(host);
  }
  bool same_particles(const HostParticles& host) const override { return trace(host) == trace_; }
  void write_positions(const HostParticles& host) override {
    const auto write = host.double_precision ? &write_ion<double> : &write_ion<float>;
    const std::int32_t* const image = state_.image.empty() ? nullptr : state_.image.data();
    for (std::size_t i = 0; i < left_.size(); ++i)
      write(state_.rules, state_.axis_unit, host, static_cast<std::uint32_t>(i), image,
            state_.sites[i], left_[i]);
    trace_ = trace(host);
  }

  void count_pairs(const Histogram& histogram, std::uint64_t* counts,
                   std::uint64_t* interior_ions) const override {
    on_all([&] {
      Bins b{};
      with_agreement([&] { b = bins_of(state_, histogram); });
      sweep_.put_all();
      const std::size_t n = sweep_.ions(),
                        size = static_cast<std::size_t>(b.species * (b.species + 1) / 2) * b.bins;
      for (std::size_t i = 0; i < n; ++i)
        interior_ions[state_.species[i]] += interior(state_.rules, b, state_.sites[i]);
      // Counts are integers, so that the sum of the histograms does not depend on which thread or
      // rank counts a pair.
      std::vector<std::vector<std::uint64_t>> of_thread(sweep_.pool.size(),
                                                        std::vector<std::uint64_t>(size));
      for_blocks_of_share([&](std::size_t first, std::size_t end, int thread) {
        for (std::size_t i = first; i < end; ++i)
          if (interior(state_.rules, b, state_.sites[i]))
            sweep_.kernels.count_pairs(state_.rules, b, sweep_.partners(), state_.species.data(), i,
                                       // Each pair once, by the ion that comes first; the other one
                                       // counts in kernels only if it is inside.
                                       {i + 1, n}, of_thread[thread].data());
      });
      std::vector<std::uint64_t>& sum = of_thread[0];
      for (std::size_t t = 1; t < of_thread.size(); ++t)
        for (std::size_t k = 0; k < size; ++k) sum[k] += of_thread[t][k];
      sweep_.shares.add(sum.data(), size);
      for (std::size_t k = 0; k < size; ++k) counts[k] += sum[k];
    });
  }

 private:
  static constexpr std::size_t kBlock = 1024;  // ions of an item of work

  // A call that all ranks make, and a part of it that makes no collective calls.
  void on_all(auto&& task) const { state_.ranks ? collective(*state_.ranks, task) : task(); }
  void with_agreement(auto&& task) const { state_.ranks ? together(*state_.ranks, task) : task(); }

  void one_sweep() {
    sweep_.propose_all();
    // The tree takes the same decisions from a far field (docs/theory/coulomb.md, section 8).
    if (brush_)
      brush_->sweep();
    else if (tree_)
      tree_->sweep();
    else
      sweep_one_by_one(sweep_);
    Counters& c = state_.counters;
    ++c.sweeps;
    c.trial_moves += sweep_.ions();
    c.accepted_moves += sweep_.accepted;
    c.evaluated_moves += sweep_.evaluated;
    c.direct_moves += sweep_.direct;
    state_.change += sweep_.energy;
    note_energy();
    sweep_.shares.look();
  }

  // Calls task(first, end, thread) for blocks of ions: rank r has blocks r, r + R, ..., because the
  // first ions count the most pairs.
  void for_blocks_of_share(auto task) const {
    const Shares& shares = sweep_.shares;
    const std::size_t n = sweep_.ions(), blocks = (n + kBlock - 1) / kBlock,
                      rank = static_cast<std::size_t>(shares.rank()),
                      ranks = static_cast<std::size_t>(shares.ranks()),
                      own = (blocks + ranks - 1 - rank) / ranks,
                      // Of a million ions a block takes a second.
        some = shares.alone() ? own : static_cast<std::size_t>(sweep_.pool.size());
    for (std::size_t done = 0; done < own; done += some, shares.look())
      for_each_item(
          sweep_.pool, static_cast<int>(std::min(some, own - done)), [&](int item, int thread) {
            const std::size_t block = rank + ranks * (done + static_cast<std::size_t>(item));
            task(block * kBlock, std::min(n, (block + 1) * kBlock), thread);
          });
  }

  std::uint64_t trace(const HostParticles& host) const {
    const auto one = host.double_precision ? &trace_of<double> : &trace_of<float>;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < sweep_.ions(); ++i) sum += one(host, static_cast<std::uint32_t>(i));
    return sum;
  }

  mutable CpuSweep sweep_;
  std::optional<Brush> brush_;
  std::optional<Tree> tree_;
  std::vector<Site> left_;  // with a host program
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(State state, int threads, const ChangeTree& change) {
  return std::make_unique<CpuEngine>(std::move(state), threads, change);
}

}  // namespace manymove::coulomb
