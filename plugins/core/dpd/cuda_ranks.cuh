// SPDX-License-Identifier: BSD-3-Clause
// The resident engine on the GPUs of several ranks.
//
// Lists are built by all ranks in the same steps, a number of steps apart that follows from how far
// particles came before: nobody asks in between. If one did come too far, all return to the state
// of the last build and take fewer steps; forces never come from lists in which somebody is
// missing.
//
// A rank's outer particles, those with ghosts among their neighbours or with copies elsewhere, come
// first in memory and in each step: their copies travel while the inner ones move.
#pragma once

#include <cub/device/device_scan.cuh>
#include <limits>
#include <numeric>

#include "cuda_engine.cuh"
#include "ranks.cuh"
#include "transport.cuh"

namespace manymove::dpd {

// A copy of what the device knows, for the host; and how many particles each box has.
struct Answers {
  Control control;
  Census census;
  unsigned outer;
  unsigned total[1];  // as many as there is room for
};

__global__ void answer_kernel(const Control* control, const Census* census, const unsigned* outer,
                              Answers* answers) {
  answers->control = *control;
  answers->census = *census;
  answers->outer = *outer;
}
__global__ void forget_kernel(Control* control, Census* census) {
  *control = {kNever, 0, 0};
  *census = {};
}

template <class P>
class CudaRanksEngine final : public CudaEngine<P> {
  using Base = CudaEngine<P>;
  using typename Base::Position;
  using typename Base::Real;
  using typename Base::Triple;
  using typename Base::Velocity;
  using Message = Transport::Message;
  static constexpr int kBuilt = 2;            // the state at the last build, kept until the next
  static constexpr double kMargin = 1.06;     // of displacements, when the next build is chosen
  static constexpr std::int64_t kMost = 100;  // steps between builds
  static constexpr int kMostLanes = 4;

  struct State {
    DeviceBuffer<Position> position;
    DeviceBuffer<Velocity> velocity;
    DeviceBuffer<Short> shorts;
  };

 public:
  CudaRanksEngine(const Settings& settings, Communicator& communicator)
      : Base(settings),
        ranks_(settings, communicator),
        transport_(make_transport(communicator, settings.transport)),
        overlap_(settings.overlap),
        census_(1),
        outer_word_(1),
        parts_(on_device(ranks_.parts(), stream_)) {
    std::vector<Part> reached;
    for (const int r : ranks_.neighbours())
      reached.push_back(ranks_.reached()[static_cast<std::size_t>(r)]);
    reached_ = on_device(reached, stream_);
    const std::size_t boxes = ranks_.parts().size();
    check(cudaHostAlloc(reinterpret_cast<void**>(&answers_),
                        sizeof(Answers) + boxes * sizeof(unsigned), cudaHostAllocMapped),
          "host memory");
    int lowest, highest;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "stream");
    check(cudaStreamCreateWithPriority(&first_stream_, cudaStreamNonBlocking, highest), "stream");
    outer_word_.clear(stream_);
    forget();
    check(cudaStreamSynchronize(stream_), "start");
  }
  ~CudaRanksEngine() override {
    cudaStreamSynchronize(first_stream_);
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(first_stream_);
    cudaFreeHost(answers_);
  }

  std::string transport() const override { return transport_->name(); }

  void upload(const HostArrays& arrays, const Topology& topology, std::int64_t step) override {
    this->check_topology(arrays.count, topology);
    hosts_ = count_ = arrays.count;
    ghosts_ = outer_ = 0;
    step_ = step;
    tally_ = {};
    lists_hold_ = false;
    interval_ = 1;
    now_ = 0;
    forget();
    const std::int64_t all = ranks_.sum(count_);
    cells_ = cells_of(settings_, static_cast<double>(all), &ranks_.here());
    base_.cells = cells_;
    core_ = core_of_part();
    lanes_ = lanes_of(static_cast<int>(all / ranks_.ranks()));
    for (auto* range : {&range_, &ghost_range_}) *range = DeviceBuffer<int2>(this->total_cells());
    reserve(std::max(count_, static_cast<int>(all / ranks_.ranks())), 0);
    const double volume =
        settings_.box.extent[0] * settings_.box.extent[1] * settings_.box.extent[2];
    const double reach = settings_.cutoff + settings_.skin;
    const double expected = 4.18879 * reach * reach * reach * static_cast<double>(all) / volume;
    grow_lists(static_cast<int>(std::min(1.4 * expected + 16, static_cast<double>(all) + kGroup)));
    take_all_topology(topology);
    if (count_ > 0) enter(arrays, topology);
  }

  void advance(std::int64_t steps, bool (*interrupted)()) override {
    if (steps <= 0) return;
    std::int64_t to = step_ + steps, next = step_ + 1;
    start_moving();
    for (;;) {
      // Positions of step `next` are those of now_.
      if (!lists_hold_ || next == until_) {
        bool stop = interrupted && next < to && interrupted();
        if (!agree(next, true, stop)) {
          next = built_;
          continue;
        }
        if (stop) to = next;
        build(next);
      }
      const bool reading = next == to;
      take_step(next, reading);
      if (!reading) {
        ++next;
        continue;
      }
      bool stop = false;
      if (agree(to, false, stop)) break;
      next = built_;
    }
    counters_.steps += to - step_;
    step_ = to;
    const int blocks = blocks_for(outer_ * lanes_) + blocks_for((count_ - outer_) * lanes_);
    this->read_tally(blocks);
  }

  void download(const HostArrays& arrays) override {
    const int blocks = blocks_for(count_, kSorters), self = ranks_.rank();
    const Home* home = home_here_.data();
    const auto stay = [&](Triple* host, auto launch) {
      if (!host || hosts_ == 0) return;
      if (count_ > 0) launch();
      this->receive(host, hosts_);
    };
    stay(arrays.position, [&] {
      stay_position_kernel<P><<<blocks, kSorters, 0, stream_>>>(
          count_, this->frame_, self, home, state_[now_].position.data(), staging_.data());
    });
    stay(arrays.velocity, [&] {
      stay_vector_kernel<<<blocks, kSorters, 0, stream_>>>(count_, self, home, rest_.data(),
                                                           staging_.data());
    });
    stay(arrays.force, [&] {
      stay_vector_kernel<<<blocks, kSorters, 0, stream_>>>(count_, self, home, force_.data(),
                                                           staging_.data());
    });
    if (arrays.image && hosts_ > 0) {
      auto* images = reinterpret_cast<int3*>(staging_.data());
      if (count_ > 0)
        stay_image_kernel<<<blocks, kSorters, 0, stream_>>>(count_, self, home, image_.data(),
                                                            images);
      launched();
      check(cudaMemcpyAsync(arrays.image, images, sizeof(int3) * static_cast<unsigned>(hosts_),
                            cudaMemcpyDeviceToHost, stream_),
            "download");
      check(cudaStreamSynchronize(stream_), "download");
    }
    for (const Arrival& arrival : deliver(ranks_.communicator(), departures()))
      arrival.enter(arrays);
  }

  void rehome(int count, const std::uint32_t* tag) override {
    std::vector<std::uint32_t> resident(static_cast<std::size_t>(count_));
    if (count_ > 0) tag_.download(resident.data(), stream_, resident.size());
    const std::vector<Home> homes = ranks_.find_homes(resident, count, tag);
    hosts_ = count;
    ensure(staging_, hosts_);
    if (count_ > 0)
      check(cudaMemcpy(home_here_.data(), homes.data(), homes.size() * sizeof(Home),
                       cudaMemcpyHostToDevice),
            "upload");
  }

 private:
  using Base::base_, Base::bond_ends_, Base::bond_first_, Base::bond_index_, Base::bond_partner_,
      Base::bond_range_, Base::bond_type_, Base::built_, Base::built_x_, Base::built_y_,
      Base::built_z_, Base::capacity_, Base::cells_, Base::control_, Base::count_, Base::counters_,
      Base::entry_, Base::force_, Base::has_special_, Base::image_, Base::key_, Base::lanes_,
      Base::launched, Base::lists_hold_, Base::now_, Base::number_, Base::order_, Base::partial_,
      Base::plain_, Base::range_, Base::settings_, Base::special_first_, Base::special_kind_,
      Base::special_partner_, Base::staging_, Base::step_, Base::stream_, Base::tally_,
      Base::where_;

  // ---- memory ----

  template <class T, class Count>
  void ensure(DeviceBuffer<T>& buffer, Count count) {
    const auto wanted = static_cast<std::size_t>(count);
    if (wanted <= buffer.size()) return;
    DeviceBuffer<T> larger(wanted + wanted / 16);
    larger.clear(stream_);
    if (buffer.size())
      check(cudaMemcpyAsync(larger.data(), buffer.data(), buffer.size() * sizeof(T),
                            cudaMemcpyDeviceToDevice, stream_),
            "copy");
    check(cudaStreamSynchronize(stream_), "copy");
    check(cudaStreamSynchronize(first_stream_), "copy");
    buffer.swap(larger);
  }

  // Room for so many particles and ghosts; what is there is kept.
  void reserve(int owned, int ghosts) {
    for (State& state : state_) {
      ensure(state.position, owned + ghosts);
      ensure(state.velocity, owned + ghosts);
      ensure(state.shorts, owned + ghosts);
    }
    for (int k = 0; k < 2; ++k) {
      ensure(key_[k], std::max(owned, ghosts));
      ensure(order_[k], std::max(owned, ghosts));
    }
    ensure(place_, ghosts);
    if (owned <= owned_capacity_) return;
    owned_capacity_ = owned + owned / 16 + 1024;
    ensure(rest_, owned_capacity_);
    ensure(force_, owned_capacity_);
    ensure(image_, owned_capacity_);
    ensure(built_image_, owned_capacity_);
    ensure(home_here_, owned_capacity_);
    ensure(home_there_, owned_capacity_);
    ensure(tag_, owned_capacity_);
    for (auto* axis : {&built_x_, &built_y_, &built_z_}) ensure(*axis, owned_capacity_);
    ensure(number_, owned_capacity_);
    ensure(staging_, std::max(owned_capacity_, hosts_));
    ensure(bond_range_, bond_ends_ ? owned_capacity_ : 0);
    ensure(partial_, (blocks_for(owned_capacity_ * kMostLanes) + 1) * kTallies);
    self_ = DeviceBuffer<unsigned>(static_cast<std::size_t>(owned_capacity_));
    count_up_kernel<<<blocks_for(owned_capacity_, kSorters), kSorters, 0, stream_>>>(
        owned_capacity_, self_.data());
    launched();
    if (capacity_ > 0) grow_lists(capacity_, true);
  }

  void grow_lists(int entries, bool anew = false) {
    const int capacity = (entries + kGroup - 1) / kGroup * kGroup;
    if (capacity <= capacity_ && !anew) return;
    entry_ = {};
    entry_ = DeviceBuffer<unsigned>(static_cast<std::size_t>(capacity) *
                                    static_cast<unsigned>(owned_capacity_));
    capacity_ = capacity;
  }

  // ---- from and to the hosts ----

  void enter(const HostArrays& arrays, const Topology& topology) {
    const auto n = static_cast<std::size_t>(count_);
    ensure(staging_, n);
    std::vector<unsigned> kind(n);
    for (std::size_t i = 0; i < n; ++i)
      kind[i] = static_cast<unsigned>(topology.type[i]) | topology.flags[i] << 16;
    const auto kinds = on_device(kind, stream_);
    check(cudaMemcpyAsync(tag_.data(), topology.tag, n * sizeof(unsigned), cudaMemcpyHostToDevice,
                          stream_),
          "upload");
    if (arrays.image)
      check(cudaMemcpyAsync(image_.data(), arrays.image, n * sizeof(int3), cudaMemcpyHostToDevice,
                            stream_),
            "upload");
    else
      image_.clear(stream_);
    DeviceBuffer<unsigned> bad(1);
    const unsigned none = ~0u;
    bad.upload(&none, stream_);
    const int blocks = blocks_for(count_);
    this->send(arrays.position);
    enter_kernel<P><<<blocks, kThreads, 0, stream_>>>(
        count_, this->frame_, staging_.data(), kinds.data(), image_.data(),
        state_[0].position.data(), order_[0].data(), bad.data());
    launched();
    this->send(arrays.velocity);
    enter_velocity_kernel<P><<<blocks, kThreads, 0, stream_>>>(count_, staging_.data(), tag_.data(),
                                                               rest_.data(), bad.data());
    launched();
    if (arrays.force) {
      this->send(arrays.force);
      enter_force_kernel<<<blocks, kThreads, 0, stream_>>>(count_, staging_.data(), force_.data());
      launched();
    } else {
      force_.clear(stream_);
    }
    live_kernel<<<blocks_for(count_, kSorters), kSorters, 0, stream_>>>(count_, ranks_.rank(),
                                                                        home_here_.data());
    launched();
    unsigned first_bad;
    bad.download(&first_bad, stream_);
    if (first_bad != none)
      this->refuse_particle(topology.tag[first_bad], arrays.position[first_bad]);
  }

  // Bonds and special neighbours of all ranks, by tag.
  void take_all_topology(const Topology& topology) {
    Communicator& communicator = ranks_.communicator();
    const auto bonds = by_tag(all_bonds(communicator, count_, topology), topology);
    const auto specials = by_tag(all_specials(communicator, count_, topology), topology);
    bond_ends_ = static_cast<int>(bonds.partner.size());
    has_special_ = !specials.partner.empty();
    plain_ = is_plain(settings_, has_special_);
    base_.bonds = {};
    if (has_special_) {
      special_first_ = on_device(specials.first, stream_);
      special_partner_ = on_device(specials.partner, stream_);
      special_kind_ = on_device(
          std::vector<unsigned char>(specials.kind.begin(), specials.kind.end()), stream_);
    }
    if (bond_ends_ == 0) return;
    bond_first_ = on_device(bonds.first, stream_);
    bond_partner_ = on_device(bonds.partner, stream_);
    bond_type_ = on_device(bonds.kind, stream_);
    bond_index_ = DeviceBuffer<unsigned>(bonds.partner.size());
    bond_index_.clear(stream_);
    where_ = DeviceBuffer<unsigned>(bonds.first.size());
    ensure(bond_range_, owned_capacity_);
    base_.bonds = {bond_range_.data(), bond_index_.data(), bond_type_.data()};
  }

  struct ByTag {
    std::vector<int> first;  // [largest tag + 2]
    std::vector<unsigned> partner;
    std::vector<int> kind;
  };
  ByTag by_tag(const std::vector<Link>& links, const Topology& topology) const {
    ByTag result;
    if (links.empty()) return result;
    std::int64_t largest = 0;
    for (int i = 0; i < count_; ++i)
      largest = std::max(largest, static_cast<std::int64_t>(topology.tag[i]));
    for (const Link& link : links)
      largest = std::max({largest, std::int64_t(link.tag), std::int64_t(link.partner)});
    ranks_.communicator().maximum(&largest, 1);
    if (largest > std::numeric_limits<int>::max() - 2)
      throw std::invalid_argument("tags of bonded particles must be below 2^31 on several ranks");
    result.first.assign(static_cast<std::size_t>(largest) + 2, 0);
    for (const Link& link : links) ++result.first[link.tag + 1];
    std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
    std::vector<int> at(result.first);
    result.partner.resize(links.size());
    result.kind.resize(links.size());
    for (const Link& link : links) {
      const auto k = static_cast<std::size_t>(at[link.tag]++);
      result.partner[k] = link.partner;
      result.kind[k] = link.kind;
    }
    return result;
  }

  // Particles of other hosts, by rank.
  std::vector<std::vector<Arrival>> departures() {
    std::vector<std::vector<Arrival>> result(ranks_.parts().size());
    const LivesAt test{ranks_.rank(), home_here_.data()};
    count_boxes(ranks_.ranks(), test);
    check(cudaStreamSynchronize(stream_), "download");
    const int away = total(ranks_.ranks());
    if (away == 0) return result;
    ensure(picked_, away);
    pick_boxes(ranks_.ranks(), test, picked_);
    DeviceBuffer<Arrival> leaving(static_cast<std::size_t>(away));
    depart_kernel<P><<<blocks_for(away, kSorters), kSorters, 0, stream_>>>(
        away, this->frame_, picked_.data(), home_here_.data(), image_.data(),
        state_[now_].position.data(), rest_.data(), force_.data(), leaving.data());
    launched();
    std::vector<Arrival> all(static_cast<std::size_t>(away));
    leaving.download(all.data(), stream_);
    auto at = all.begin();
    for (std::size_t r = 0; r < result.size(); ++r) {
      result[r].assign(at, at + answers_->total[r]);
      at += answers_->total[r];
    }
    return result;
  }

  // ---- who goes where ----

  // How many of the particles are in each box; in answers_->total when the stream is through.
  template <class Test>
  void count_boxes(int boxes, const Test& test) {
    if (unsigned* number = room_for_numbers(boxes)) {
      count_kernel<<<blocks_for(count_, kSorters), kSorters, 0, work_>>>(count_, boxes, test,
                                                                         number);
      launched();
    }
    sum_boxes(boxes);
  }
  // Of each block in each box; null where there are none.
  unsigned* room_for_numbers(int boxes) {
    const int numbers = boxes * blocks_for(count_, kSorters) + 1;
    ensure(block_number_, numbers);
    ensure(block_offset_, numbers);
    return count_ > 0 && boxes > 0 ? block_number_.data() : nullptr;
  }
  void sum_boxes(int boxes) {
    const int blocks = blocks_for(count_, kSorters), numbers = boxes * blocks + 1;
    if (numbers == 1) {
      check(cudaStreamSynchronize(work_), "count");
      std::fill_n(answers_->total, boxes, 0u);
      return;
    }
    std::size_t bytes = 0;
    check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, block_number_.data(), block_offset_.data(),
                                        numbers, work_),
          "sum");
    ensure(scratch_, bytes);
    check(cub::DeviceScan::ExclusiveSum(scratch_.data(), bytes, block_number_.data(),
                                        block_offset_.data(), numbers, work_),
          "sum");
    totals_kernel<<<blocks_for(boxes), kThreads, 0, work_>>>(boxes, static_cast<unsigned>(blocks),
                                                             block_offset_.data(), answers_->total);
    launched();
  }
  // After count_boxes of the same particles.
  template <class Test>
  void pick_boxes(int boxes, const Test& test, DeviceBuffer<unsigned>& picked) {
    if (count_ == 0 || boxes == 0) return;
    pick_kernel<<<blocks_for(count_, kSorters), kSorters, 0, work_>>>(
        count_, boxes, test, block_offset_.data(), picked.data());
    launched();
  }
  int total(int boxes) const {
    return static_cast<int>(
        std::accumulate(answers_->total, answers_->total + boxes, std::uint64_t(0)));
  }

  // Records of so many bytes, to[r] of them for rank r, from[r] from it, one after the other.
  void exchange(void* sent, const std::vector<std::int64_t>& to, void* received,
                const std::vector<std::int64_t>& from, std::size_t bytes, cudaStream_t stream) {
    std::vector<Message> out, in;
    auto *here = static_cast<char*>(sent), *there = static_cast<char*>(received);
    for (std::size_t r = 0; r < to.size(); ++r) {
      const std::size_t leaving = to[r] * bytes, arriving = from[r] * bytes;
      if (leaving) out.push_back({static_cast<int>(r), here, leaving});
      if (arriving) in.push_back({static_cast<int>(r), there, arriving});
      here += leaving;
      there += arriving;
    }
    transport_->exchange(out, in, stream);
  }

  void sort(int count, int bits) {
    cub::DoubleBuffer<unsigned> keys(key_[0].data(), key_[1].data()),
        orders(order_[0].data(), order_[1].data());
    std::size_t bytes = 0;
    check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, orders, count, 0, bits, work_),
          "sort");
    ensure(scratch_, bytes);
    check(cub::DeviceRadixSort::SortPairs(scratch_.data(), bytes, keys, orders, count, 0, bits,
                                          work_),
          "sort");
    sorted_ = orders.Current();
  }

  // ---- agreement ----

  struct Opinion {
    std::int64_t expired;
    std::uint32_t lost, beyond, missing, wanted, farthest, stop;
  };

  // Whether nobody's lists expired before `step`, or at it if no build follows. If somebody's did,
  // all are back at the last build, and the next one comes in time.
  bool agree(std::int64_t step, bool before_build, bool& stop) {
    join();
    if (before_build) {
      if (unsigned* number = room_for_numbers(ranks_.ranks())) {
        census_kernel<P><<<blocks_for(count_, kSorters), kSorters, 0, stream_>>>(
            count_, ranks_.ranks(), cells_, base_.motion.frame.open, leaves(),
            state_[now_].velocity.data(), built_at(), census_.data(), number);
        launched();
      }
      sum_boxes(ranks_.ranks());
    }
    ask();
    const Control& control = answers_->control;
    const Census& census = answers_->census;
    const Opinion mine{control.expired, control.lost,    census.beyond, census.missing,
                       control.wanted,  census.farthest, stop};
    std::vector<Opinion> all(ranks_.parts().size());
    ranks_.communicator().gather(&mine, all.data(), sizeof mine);
    std::int64_t expired = kNever;
    for (const Opinion& o : all) expired = std::min<std::int64_t>(expired, o.expired);
    Opinion most{};
    for (const Opinion& o : all) {
      if (o.expired == expired) most.lost = std::max(most.lost, o.lost);
      most.beyond = std::max(most.beyond, o.beyond);
      most.missing = std::max(most.missing, o.missing);
      most.wanted = std::max(most.wanted, o.wanted);
      most.farthest = std::max(most.farthest, o.farthest);
      most.stop |= o.stop;
    }
    if (lists_hold_ && most.missing) {
      step_ = built_;
      this->miss_partner(most.missing);
    }
    if (lists_hold_ && most.wanted) {
      return_to_build(until_, control.wanted);
      return false;
    }
    if (most.lost && expired <= step) {
      step_ = expired;
      this->lose_particle(most.lost);
    }
    if (lists_hold_ && (before_build ? expired < step : expired <= step)) {
      return_to_build(expired, 0);
      return false;
    }
    if (!before_build) return true;
    if (most.beyond) {
      step_ = step;
      this->lose_particle(most.beyond);
    }
    if (lists_hold_) choose_interval(step - built_, as_float(most.farthest));
    stop = most.stop != 0;
    return true;
  }

  // From the square of the largest displacement in the steps since the last build, as if it grew in
  // proportion: lists are used while it is below half a skin.
  void choose_interval(std::int64_t steps, float farthest) {
    const double share =
        std::sqrt(static_cast<double>(farthest) / static_cast<double>(cells_.half_skin_squared)) *
        kMargin / static_cast<double>(steps);
    const double most = static_cast<double>(std::min(2 * steps + 1, kMost));
    interval_ = share > 0 ? static_cast<std::int64_t>(std::clamp(std::ceil(1 / share), 1.0, most))
                          : static_cast<std::int64_t>(most);
  }

  void return_to_build(std::int64_t until, unsigned wanted) {
    until_ = until;
    forget();
    check(cudaMemcpyAsync(image_.data(), built_image_.data(),
                          sizeof(int3) * static_cast<unsigned>(count_), cudaMemcpyDeviceToDevice,
                          stream_),
          "copy");
    if (wanted) {
      grow_lists(static_cast<int>(wanted + wanted / 8));
      list(true);
      list(false);
    }
    now_ = kBuilt;
    inner_done_.record(stream_);
  }

  void forget() {
    forget_kernel<<<1, 1, 0, stream_>>>(control_.data(), census_.data());
    launched();
  }
  void ask() {
    answer_kernel<<<1, 1, 0, work_>>>(control_.data(), census_.data(), outer_word_.data(),
                                      answers_);
    launched();
    check(cudaStreamSynchronize(work_), "step");
  }
  // What follows in stream_ comes after what is in the other one.
  void join() {
    if (!overlap_) return;
    joined_.record(first_stream_);
    check(cudaStreamWaitEvent(stream_, joined_, 0), "wait");
  }

  // ---- building lists ----

  BuiltAt built_at() const { return {built_x_.data(), built_y_.data(), built_z_.data()}; }
  Leaves<P> leaves() const {
    return {ranks_.parts()[static_cast<std::size_t>(ranks_.rank())], parts_.data(),
            state_[now_].position.data()};
  }
  Travellers<P> particles(State& state, DeviceBuffer<int3>& image, DeviceBuffer<Home>& home) const {
    return {state.position.data(), state.velocity.data(), image.data(), home.data()};
  }

  // Cells whose particles have no neighbour in, and are in nobody's reach from, other parts.
  Core core_of_part() const {
    const Part& own = ranks_.parts()[static_cast<std::size_t>(ranks_.rank())];
    Core core;
    for (int a = 0; a < 3; ++a) {
      core.first[a] = 0;
      core.last[a] = cells_.count[a] - 1;
      if (own.beyond[a] == 0xffffffffu) continue;
      // The reach of lists on one side, from the part that is grown by it on both.
      const Part& here = ranks_.here();
      const std::uint64_t reach =
          here.beyond[a] == 0xffffffffu ? 0xffffffffu : own.low[a] - here.low[a];
      if (own.beyond[a] < 2 * reach) {
        core.last[a] = -1;
        continue;
      }
      const auto along = static_cast<std::uint32_t>(cells_.count[a]);
      const auto low = own.low[a] + static_cast<std::uint32_t>(reach),
                 high = own.low[a] + own.beyond[a] - static_cast<std::uint32_t>(reach);
      core.first[a] = static_cast<int>(bin_of(low, along)) + 1;
      core.last[a] = static_cast<int>(bin_of(high, along)) - 1;
    }
    return core;
  }

  // Inner particles, whose lists need no ghosts, are listed while ghosts travel.
  void build(std::int64_t step) {
    built_ = step;
    forget();
    migrate();
    inner_done_.record(stream_);
    list(true);
    work_ = ahead();
    check(cudaStreamWaitEvent(work_, inner_done_, 0), "wait");
    find_ghosts();
    list(false);
    work_ = stream_;
    join();
    find_partners();
    inner_done_.record(stream_);
    until_ = step + interval_;
    lists_hold_ = true;
    ++counters_.builds;
  }

  // After agree() has counted who leaves.
  void migrate() {
    const auto parts = ranks_.parts().size();
    std::vector<std::int64_t> to(answers_->total, answers_->total + parts), from(parts);
    ranks_.communicator().transpose(to.data(), from.data());
    const int leaving = static_cast<int>(std::accumulate(to.begin(), to.end(), std::int64_t(0))),
              arriving =
                  static_cast<int>(std::accumulate(from.begin(), from.end(), std::int64_t(0))),
              present = count_ + arriving;
    ensure(picked_, leaving);
    ensure(out_, static_cast<std::size_t>(leaving) * sizeof(Traveller<P>));
    ensure(in_, static_cast<std::size_t>(arriving) * sizeof(Traveller<P>));
    auto *out = reinterpret_cast<Traveller<P>*>(out_.data()),
         *in = reinterpret_cast<Traveller<P>*>(in_.data());
    if (leaving > 0) {
      pick_boxes(ranks_.ranks(), leaves(), picked_);
      travel_kernel<P><<<blocks_for(leaving, kSorters), kSorters, 0, stream_>>>(
          leaving, picked_.data(), particles(state_[now_], image_, home_here_), out);
      launched();
    }
    reserve(present, 0);
    exchange(out, to, in, from, sizeof(Traveller<P>), stream_);
    const auto here = particles(state_[now_], image_, home_here_);
    if (arriving > 0) {
      arrive_kernel<P>
          <<<blocks_for(arriving, kSorters), kSorters, 0, stream_>>>(arriving, in, count_, here);
      launched();
    }
    count_ = present - leaving;
    range_.clear(stream_);
    if (present > 0) {
      place_kernel<P><<<blocks_for(present, kSorters), kSorters, 0, stream_>>>(
          present, cells_, core_, ranks_.parts()[static_cast<std::size_t>(ranks_.rank())],
          here.position, key_[0].data(), order_[0].data());
      launched();
      sort(present, std::min(32, 3 * cells_.bits + 1));
    }
    if (count_ > 0) {
      settle_kernel<P><<<blocks_for(count_, kSorters), kSorters, 0, stream_>>>(
          count_, cells_, core_, base_.shorts, sorted_, here,
          particles(state_[kBuilt], built_image_, home_there_), state_[kBuilt].shorts.data(),
          tag_.data(), built_at(), range_.data(), outer_word_.data());
      launched();
      check(cudaMemcpyAsync(image_.data(), built_image_.data(),
                            sizeof(int3) * static_cast<unsigned>(count_), cudaMemcpyDeviceToDevice,
                            stream_),
            "copy");
    } else {
      outer_word_.clear(stream_);
    }
    home_here_.swap(home_there_);
    now_ = kBuilt;
  }

  void find_ghosts() {
    const auto& neighbours = ranks_.neighbours();
    const int boxes = static_cast<int>(neighbours.size());
    const IsKnown<P> known{reached_.data(), outer_word_.data(), state_[kBuilt].position.data()};
    count_boxes(boxes, known);
    ask();
    outer_ = static_cast<int>(answers_->outer);
    ghosts_to_.assign(ranks_.parts().size(), 0);
    ghosts_from_.assign(ranks_.parts().size(), 0);
    for (int k = 0; k < boxes; ++k)
      ghosts_to_[static_cast<std::size_t>(neighbours[k])] = answers_->total[k];
    ranks_.communicator().transpose(ghosts_to_.data(), ghosts_from_.data());
    known_ = total(boxes);
    ghosts_ = static_cast<int>(
        std::accumulate(ghosts_from_.begin(), ghosts_from_.end(), std::int64_t(0)));
    ensure(border_, known_);
    ensure(out_, static_cast<std::size_t>(known_) * sizeof(Ghost<P>));
    ensure(in_, static_cast<std::size_t>(ghosts_) * sizeof(Ghost<P>));
    reserve(count_, ghosts_);
    State& state = state_[kBuilt];
    auto *out = reinterpret_cast<Ghost<P>*>(out_.data()),
         *in = reinterpret_cast<Ghost<P>*>(in_.data());
    if (known_ > 0) {
      // Growing may have moved the particles.
      pick_boxes(boxes, IsKnown<P>{reached_.data(), outer_word_.data(), state.position.data()},
                 border_);
      show_kernel<P><<<blocks_for(known_, kSorters), kSorters, 0, work_>>>(
          known_, border_.data(), state.position.data(), state.velocity.data(), out);
      launched();
    }
    exchange(out, ghosts_to_, in, ghosts_from_, sizeof(Ghost<P>), work_);
    ghost_range_.clear(work_);
    if (ghosts_ == 0) return;
    const int blocks = blocks_for(ghosts_, kSorters);
    ghost_key_kernel<P>
        <<<blocks, kSorters, 0, work_>>>(ghosts_, cells_, in, key_[0].data(), order_[0].data());
    launched();
    sort(ghosts_, 3 * cells_.bits);
    see_kernel<P><<<blocks, kSorters, 0, work_>>>(
        ghosts_, count_, cells_, base_.shorts, sorted_, in, state.position.data(),
        state.velocity.data(), state.shorts.data(), place_.data(), ghost_range_.data());
    launched();
  }

  void list(bool inner) {
    if (count_ == 0) return;
    unsigned excluded = 0;
    for (unsigned k = 1; k < 4; ++k)
      if (settings_.pairs.special[k] == 0) excluded |= 1u << k;
    const ListArguments arguments{
        cells_,
        !base_.motion.frame.tilted,
        base_.watch,
        range_.data(),
        lists(),
        tag_.data(),
        {special_first_.data(), special_partner_.data(), special_kind_.data(), excluded},
        ghost_range_.data(),
        core_,
        inner};
    const auto kernel = has_special_ ? &list_kernel<P, true, true> : &list_kernel<P, false, true>;
    kernel<<<this->list_grid(), kThreads, 0, work_>>>(arguments, state_[kBuilt].position.data(),
                                                      state_[kBuilt].velocity.data());
    launched();
  }
  Lists lists() const { return {entry_.data(), number_.data(), capacity_, owned_capacity_}; }

  void find_partners() {
    if (bond_ends_ == 0 || count_ == 0) return;
    check(cudaMemsetAsync(where_.data(), 0xff, where_.size() * sizeof(unsigned), stream_), "clear");
    const int all = count_ + ghosts_;
    where_kernel<P><<<blocks_for(all, kSorters), kSorters, 0, stream_>>>(
        all, state_[kBuilt].velocity.data(), where_.data());
    launched();
    partner_kernel<<<blocks_for(count_, kSorters), kSorters, 0, stream_>>>(
        count_, tag_.data(), bond_first_.data(), bond_partner_.data(), where_.data(),
        bond_range_.data(), bond_index_.data(), census_.data());
    launched();
    base_.bonds.range = bond_range_.data();
  }

  // ---- steps ----

  int after(int state) const { return state == 0 ? 1 : 0; }

  Step<P> arguments(std::int64_t number, int last, bool reading) {
    Step<P> s = base_;
    const State &here = state_[now_], &there = state_[after(now_)];
    s.count = last;
    s.number = number;
    s.forces.noise = this->key_of(number);
    s.lists = lists();
    s.built_at = built_at();
    s.image = image_.data();
    s.home = self_.data();
    s.position = here.position.data();
    s.velocity = here.velocity.data();
    s.next_position = there.position.data();
    s.next_velocity = reading ? rest_.data() : there.velocity.data();
    s.short_position = here.shorts.data();
    s.next_short = there.shorts.data();
    s.force = force_.data();
    s.partial = partial_.data();
    return s;
  }

  // From rest at step_ to the positions of the next step.
  void start_moving() {
    if (count_ > 0) {
      Step<P> s = arguments(step_, count_, false);
      s.velocity = rest_.data();
      first_kernel<P><<<blocks_for(count_), kThreads, 0, stream_>>>(s);
      launched();
    }
    inner_done_.record(stream_);
    check(cudaStreamWaitEvent(ahead(), inner_done_, 0), "wait");
    now_ = after(now_);
    if (lists_hold_ && step_ + 1 != until_) refresh_ghosts();
  }

  // Outer particles go ahead in their stream; each part needs what both were in the last step.
  void take_step(std::int64_t step, bool reading) {
    const cudaStream_t first = ahead();
    if (overlap_) {
      check(cudaStreamWaitEvent(first, inner_done_, 0), "wait");
      check(cudaStreamWaitEvent(stream_, outer_done_, 0), "wait");
    }
    launch_part(step, reading, 0, outer_, 0, first);
    outer_done_.record(first);
    launch_part(step, reading, outer_, count_, blocks_for(outer_ * lanes_), stream_);
    inner_done_.record(stream_);
    if (reading) return;
    now_ = after(now_);
    if (step + 1 != until_) refresh_ghosts();
  }
  cudaStream_t ahead() const {
    return overlap_ ? first_stream_ : static_cast<cudaStream_t>(stream_);
  }

  using Kernel = void (*)(const Step<P>, const From);
  template <bool plain, bool reading>
  static Kernel kernel_of(int lanes) {
    switch (lanes) {
      case 1:
        return &step_kernel<P, plain, reading, 1, From>;
      case 2:
        return &step_kernel<P, plain, reading, 2, From>;
      default:
        return &step_kernel<P, plain, reading, 4, From>;
    }
  }
  void launch_part(std::int64_t step, bool reading, int first, int last, int blocks_before,
                   cudaStream_t stream) {
    if (first == last) return;
    Step<P> s = arguments(step, last, reading);
    s.partial += static_cast<std::size_t>(blocks_before) * kTallies;
    const Kernel kernel =
        plain_ ? (reading ? kernel_of<true, true>(lanes_) : kernel_of<true, false>(lanes_))
               : (reading ? kernel_of<false, true>(lanes_) : kernel_of<false, false>(lanes_));
    kernel<<<blocks_for((last - first) * lanes_), kThreads, 0, stream>>>(s, From{first});
    launched();
  }

  // Copies of the particles that others know go there, and theirs come; of the present state.
  void refresh_ghosts() {
    const cudaStream_t stream = ahead();
    auto *out = reinterpret_cast<Motionless<P>*>(out_.data()),
         *in = reinterpret_cast<Motionless<P>*>(in_.data());
    State& state = state_[now_];
    if (known_ > 0) {
      pack_kernel<P><<<blocks_for(known_, kSorters), kSorters, 0, stream>>>(
          known_, border_.data(), state.position.data(), state.velocity.data(), out);
      launched();
    }
    exchange(out, ghosts_to_, in, ghosts_from_, sizeof(Motionless<P>), stream);
    if (ghosts_ == 0) return;
    unpack_kernel<P><<<blocks_for(ghosts_, kSorters), kSorters, 0, stream>>>(
        ghosts_, base_.shorts, place_.data(), in, state_[kBuilt].position.data(),
        state_[kBuilt].velocity.data(), state.position.data(), state.velocity.data(),
        state.shorts.data());
    launched();
  }

  Decomposition ranks_;
  std::unique_ptr<Transport> transport_;
  const bool overlap_;
  DeviceBuffer<Census> census_;
  DeviceBuffer<unsigned> outer_word_;  // how many outer particles there are
  DeviceBuffer<Part> parts_, reached_;
  Answers* answers_ = nullptr;
  cudaStream_t first_stream_ = nullptr, work_ = stream_;  // the latter: of what comes next
  Event inner_done_, outer_done_, joined_;
  Core core_{};
  int hosts_ = 0, ghosts_ = 0, outer_ = 0, owned_capacity_ = 0;
  int known_ = 0;                          // copies elsewhere
  std::int64_t interval_ = 1, until_ = 0;  // steps from build to build; the next one
  State state_[3];
  DeviceBuffer<Velocity> rest_;  // at whole steps
  DeviceBuffer<int3> built_image_;
  DeviceBuffer<Home> home_here_, home_there_;
  DeviceBuffer<unsigned> tag_, self_, place_, picked_, border_, block_number_, block_offset_;
  DeviceBuffer<int2> ghost_range_;  // of each cell
  DeviceBuffer<char> scratch_, out_, in_;
  unsigned* sorted_ = nullptr;
  std::vector<std::int64_t> ghosts_to_, ghosts_from_;  // by rank
};

}  // namespace manymove::dpd
