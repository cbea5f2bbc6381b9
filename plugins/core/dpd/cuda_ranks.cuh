// SPDX-License-Identifier: BSD-3-Clause
// What a rank has on its GPU, and how particles come and go: between the hosts' arrays and the
// engines, and between ranks.
#pragma once

#include <cub/device/device_scan.cuh>
#include <limits>
#include <numeric>
#include <utility>

#include "../parallel/rank_waits.cuh"
#include "../parallel/transport.cuh"
#include "cuda_engine.cuh"
#include "hosts.cuh"

namespace manymove::dpd {

template <class P>
class CudaRanks : public CudaEngine<P> {
 protected:
  using Base = CudaEngine<P>;
  using typename Base::Position;
  using typename Base::Real;
  using typename Base::Triple;
  using typename Base::Velocity;
  using Segments = Transport::Segments;
  static constexpr int kBuilt = 2;  // the state at the last build, kept until the next
  static constexpr int kMostLanes = 4;

  struct State {
    DeviceBuffer<Position> position;
    DeviceBuffer<Velocity> velocity;
    DeviceBuffer<Short> shorts;
  };

 public:
  // Collective.
  CudaRanks(const Settings& settings, Communicator& communicator)
      : Base(settings),
        ranks_(settings, communicator, kFarthestAhead * 0.5 * settings.skin),
        wait_(communicator),
        transport_(make_transport(communicator, settings.transport, [this] { finish_all(); })),
        overlap_(settings.overlap),
        census_(1),
        bounds_(1),
        parts_(on_device(ranks_.parts(), stream_)),
        totals_(ranks_.parts().size()) {
    std::vector<Part> reached;
    for (const int r : ranks_.neighbours())
      reached.push_back(ranks_.reached()[static_cast<std::size_t>(r)]);
    reached_ = on_device(reached, stream_);
    answers_->total = totals_.data();
    bounds_.clear(stream_);
    forget();
    finish("start");
  }
  ~CudaRanks() override { give_up(); }

  std::string transport() const override { return transport_->name(); }

  void upload(const HostArrays& arrays, const Topology& topology, Clock clock) override try {
    Communicator& communicator = ranks_.communicator();
    together(communicator, [&] { this->check_topology(arrays.count, topology); });
    work_ = stream_;
    hosts_ = count_ = seats_ = arrays.count;
    ghosts_ = outer_ = near_ = seats_left_ = 0;
    this->set_clock(clock);
    tally_ = {};
    lists_hold_ = false;
    now_ = 0;
    forget();
    const std::int64_t all = ranks_.sum(count_);
    together(communicator, [&] {
      cells_ = cells_of(settings_, static_cast<double>(all), &ranks_.here());
      base_.cells = cells_;
      depths_ =
          depths_of(cells_, ranks_.parts()[static_cast<std::size_t>(ranks_.rank())], ranks_.here());
      share_cells();
      lanes_ = lanes_of(static_cast<int>(all / ranks_.ranks()));
      for (auto* range : {&range_, &ghost_range_}) *range = DeviceBuffer<int2>(this->total_cells());
      reserve(std::max(count_, static_cast<int>(all / ranks_.ranks())), 0);
      const double volume =
          settings_.box.extent[0] * settings_.box.extent[1] * settings_.box.extent[2];
      const double reach = settings_.cutoff + settings_.skin;
      const double expected = 4.18879 * reach * reach * reach * static_cast<double>(all) / volume;
      grow_lists(
          static_cast<int>(std::min(1.4 * expected + 16, static_cast<double>(all) + kGroup)));
    });
    transport_->expect(largest_segment(static_cast<double>(all)));
    take_links(topology);
    together(communicator, [&] {
      if (count_ > 0) enter(arrays, topology);
    });
  } catch (...) {
    failed();
    throw;
  }

  void download(const HostArrays& arrays) override try {
    const int blocks = blocks_for(count_, kSorters), self = ranks_.rank();
    const Homes home = homes();
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
      check_launch();
      copy_out(arrays.image, images, sizeof(int3) * static_cast<unsigned>(hosts_), stream_);
      finish("download");
    }
    for (const Arrival& arrival : deliver(ranks_.communicator(), departures()))
      arrival.enter(arrays);
  } catch (...) {
    failed();
    throw;
  }

  // Lists are rebuilt: if they turned out to have expired, the steps since the last build would be
  // repeated from the old velocities.
  void set_velocities(int count, const std::uint32_t* tag, const Triple* velocity) override try {
    Communicator& communicator = ranks_.communicator();
    together(communicator, [&] { this->check_velocities(count, tag, velocity); });
    std::vector<unsigned> seat(static_cast<std::size_t>(count_));
    std::vector<Home> by_seat(static_cast<std::size_t>(seats_)), homes;
    if (count_ > 0) {
      this->fetch(seat_, seat.data(), seat.size());
      this->fetch(home_, by_seat.data(), by_seat.size());
    }
    for (const unsigned s : seat) homes.push_back(by_seat[s]);
    const auto fetched = fetch_from_homes(communicator, homes, velocity);
    work_ = stream_;
    lists_hold_ = false;
    forget();
    if (count_ == 0) return;
    ensure(staging_, count_);
    copy_in(staging_.data(), fetched.data(), fetched.size() * sizeof(Triple), stream_);
    set_velocity_kernel<<<blocks_for(count_), kThreads, 0, stream_>>>(
        count_, nullptr, staging_.data(), rest_.data());
    check_launch();
    finish("upload");
  } catch (...) {
    failed();
    throw;
  }

  void rehome(int count, const std::uint32_t* tag) override try {
    std::vector<std::uint32_t> resident(static_cast<std::size_t>(count_));
    if (count_ > 0) this->fetch(tag_, resident.data(), resident.size());
    const std::vector<Home> homes = find_homes(ranks_.communicator(), resident, count, tag);
    hosts_ = count;
    ensure(staging_, hosts_);
    if (count_ == 0) return;
    const auto to = on_device(homes, stream_);
    rehome_kernel<<<blocks_for(count_, kSorters), kSorters, 0, stream_>>>(count_, seat_.data(),
                                                                          to.data(), home_.data());
    check_launch();
    finish("upload");
  } catch (...) {
    failed();
    throw;
  }

 protected:
  using Base::base_, Base::bond_index_, Base::bond_range_, Base::bond_type_, Base::ball_,
      Base::capacity_, Base::cells_, Base::control_, Base::count_, Base::entry_, Base::force_,
      Base::has_special_, Base::image_, Base::key_, Base::lanes_, Base::lists_hold_, Base::now_,
      Base::number_, Base::order_, Base::partial_, Base::plain_, Base::range_, Base::settings_,
      Base::staging_, Base::step_, Base::stream_, Base::tally_;

  // ---- waiting and giving up ----

  void finish(const char* what) const override { wait_(cudaStream_t(stream_), what); }
  void finish_all() const {
    for (const cudaStream_t stream :
         {cudaStream_t(first_stream_), cudaStream_t(last_stream_), cudaStream_t(stream_)})
      wait_(stream, "step");
  }

  // In the handler of an exception that leaves a public call. Unless all ranks have agreed on it,
  // kernels may be left that wait for ranks whose kernels do not come.
  void failed() noexcept {
    try {
      throw;
    } catch (const RankFailure&) {
      give_up();
    } catch (const Agreed&) {
    } catch (...) {
      give_up();
    }
  }
  // Ends what is in the streams. What other ranks have not sent is undefined then, so kernels are
  // told first to leave it alone.
  void give_up() noexcept {
    cudaMemsetAsync(&control_.data()->expired, 0xff, sizeof(Control::expired), rescue_stream_);
    settles(rescue_stream_);
    transport_->abandon();
    for (const cudaStream_t stream :
         {cudaStream_t(first_stream_), cudaStream_t(last_stream_), cudaStream_t(stream_)})
      settles(stream);
  }

  // ---- memory ----

  // Freeing memory waits for all kernels, and the other ranks would not be watched meanwhile.
  template <class T, class Count>
  void ensure(DeviceBuffer<T>& buffer, Count count) {
    const auto wanted = static_cast<std::size_t>(count);
    if (wanted <= buffer.size()) return;
    finish_all();
    DeviceBuffer<T> larger(wanted + wanted / 16);
    larger.clear(stream_);
    if (buffer.size())
      check(cudaMemcpyAsync(larger.data(), buffer.data(), buffer.size() * sizeof(T),
                            cudaMemcpyDeviceToDevice, stream_),
            "copy");
    finish("copy");
    buffer.swap(larger);
  }

  // Index of the first ghost: the number of owned particles rounded up to whole blocks.
  static int first_ghost(int owned) { return blocks_for(owned) * kThreads; }

  // Room for so many particles and ghosts; what is there is kept.
  void reserve(int owned, int ghosts) {
    const int all = this->checked_count(std::int64_t{first_ghost(owned)} + ghosts);
    for (State& state : state_) {
      ensure(state.position, all);
      ensure(state.velocity, all);
      ensure(state.shorts, all);
    }
    ensure(ball_, all);
    for (int k = 0; k < 2; ++k) {
      ensure(key_[k], std::max(owned, ghosts));
      ensure(order_[k], std::max(owned, ghosts));
    }
    ensure(place_, ghosts);
    if (owned <= owned_capacity_) return;
    const int before = std::exchange(owned_capacity_, owned + owned / 16 + 1024);
    try {
      reserve_owned();
    } catch (...) {
      owned_capacity_ = before;
      throw;
    }
    lists_lost_ = true;
  }
  void reserve_owned() {
    const auto each = [&](auto&... buffer) { (ensure(buffer, owned_capacity_), ...); };
    each(rest_, force_, image_, built_image_, home_, seat_, seat_there_, left_seat_, tag_, number_);
    ensure(staging_, std::max(owned_capacity_, hosts_));
    reserve_links();
    ensure(partial_, (blocks_for(owned_capacity_, kThreads / kMostLanes) + 2) * kTallies);
    if (capacity_ > 0) grow_lists(capacity_, true);
  }

  void grow_lists(int entries, bool anew = false) {
    const int capacity = (entries + kGroup - 1) / kGroup * kGroup;
    if (capacity <= capacity_ && !anew) return;
    finish_all();
    capacity_ = 0;
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
    copy_in(tag_.data(), topology.tag, n * sizeof(unsigned), stream_);
    if (arrays.image)
      copy_in(image_.data(), arrays.image, n * sizeof(int3), stream_);
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
    check_launch();
    this->send(arrays.velocity);
    enter_velocity_kernel<P><<<blocks, kThreads, 0, stream_>>>(count_, staging_.data(), tag_.data(),
                                                               rest_.data(), bad.data());
    check_launch();
    if (arrays.force) {
      this->send(arrays.force);
      enter_force_kernel<<<blocks, kThreads, 0, stream_>>>(count_, staging_.data(), force_.data());
      check_launch();
    } else {
      force_.clear(stream_);
    }
    live_kernel<<<blocks_for(count_, kSorters), kSorters, 0, stream_>>>(count_, ranks_.rank(),
                                                                        seat_.data(), home_.data());
    check_launch();
    unsigned first_bad;
    this->fetch(bad, &first_bad, 1);
    if (first_bad != none)
      this->refuse_particle(topology.tag[first_bad], arrays.position[first_bad]);
  }

  // ---- links ----

  // Makes room for the links of owned_capacity_ particles and keeps those that are there.
  void reserve_links() {
    const auto room = static_cast<std::size_t>(owned_capacity_);
    if (room * links_.bonds > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw std::runtime_error(text_of(owned_capacity_, " particles with up to ", links_.bonds,
                                       " bonds each are too many for one rank: the product must "
                                       "be below 2^31"));
    ensure(link_, room * links_.words());
    links_.word = link_.data();
    ensure(bond_index_, room * links_.bonds);
    ensure(bond_type_, room * links_.bonds);
    ensure(bond_range_, links_.bonds ? room : 0);
  }

  // Bonds and special neighbors of the rank's particles, in the seats that these have at first. All
  // ranks agree on the length of rows, and on whether there are any.
  void take_links(const Topology& topology) {
    std::int64_t most[2] = {most_links(count_, topology.first_bond),
                            most_links(count_, topology.first_special)};
    ranks_.communicator().maximum(most, 2);
    links_.bonds = static_cast<std::uint32_t>(most[0]);
    links_.specials = static_cast<std::uint32_t>(most[1]);
    has_special_ = links_.specials > 0;
    plain_ = is_plain(settings_, has_special_);
    reserve_links();
    const std::vector<LinkWord> rows = rows_of(count_, topology, links_);
    if (rows.empty()) return;
    copy_in(link_.data(), rows.data(), rows.size() * sizeof(LinkWord), stream_);
    finish("upload");
  }

  BondsInOrder bonds_in_order() const {
    return {bond_range_.data(), bond_index_.data(), bond_type_.data()};
  }

  // An empty table with room for this many particles.
  TagIndex tag_index(std::int64_t particles) {
    const int bits = TagIndex::bits_for(particles);
    const auto entries = static_cast<std::size_t>(1) << bits;
    ensure(known_tag_, entries);
    check(cudaMemsetAsync(known_tag_.data(), 0, entries * sizeof(std::uint64_t), stream_), "clear");
    return {known_tag_.data(), bits};
  }

  Homes homes() const { return {seat_.data(), home_.data()}; }

  // Particles of other hosts, by rank.
  std::vector<std::vector<Arrival>> departures() {
    std::vector<std::vector<Arrival>> result(ranks_.parts().size());
    const LivesAt test{ranks_.rank(), homes()};
    count_boxes(count_, ranks_.ranks(), test);
    finish("download");
    const int away = total(ranks_.ranks());
    if (away == 0) return result;
    ensure(picked_, away);
    pick_boxes(count_, ranks_.ranks(), test, picked_);
    DeviceBuffer<Arrival> leaving(static_cast<std::size_t>(away));
    depart_kernel<P><<<blocks_for(away, kSorters), kSorters, 0, stream_>>>(
        away, this->frame_, picked_.data(), homes(), image_.data(), state_[now_].position.data(),
        rest_.data(), force_.data(), leaving.data());
    check_launch();
    std::vector<Arrival> all(static_cast<std::size_t>(away));
    this->fetch(leaving, all.data(), all.size());
    auto at = all.begin();
    for (std::size_t r = 0; r < result.size(); ++r) {
      result[r].assign(at, at + answers_->total[r]);
      at += answers_->total[r];
    }
    return result;
  }

  // Inner ones have lists without ghosts.
  void share_cells() {
    std::vector<CellPlace> inner, outer;
    for (int z = 0; z < cells_.here[2]; ++z)
      for (int y = 0; y < cells_.here[1]; ++y)
        for (int x = 0; x < cells_.here[0]; ++x) {
          const auto small = [](int c) { return static_cast<unsigned short>(c); };
          const CellPlace cell{small(x), small(y), small(z), 0};
          (is_core_cell(cells_, depths_.core, cell) ? inner : outer).push_back(cell);
        }
    inner_cells_ = on_device(inner, stream_);
    outer_cells_ = on_device(outer, stream_);
  }

  // ---- who goes where ----

  // How many of the first particles are in each box; in answers_->total when the stream is through.
  template <class Test>
  void count_boxes(int count, int boxes, const Test& test) {
    if (unsigned* number = room_for_numbers(count, boxes)) {
      count_kernel<<<blocks_for(count, kSorters), kSorters, 0, work_>>>(count, boxes, test, number);
      check_launch();
    }
    sum_boxes(count, boxes);
  }
  // Of each block in each box; null where there are none.
  unsigned* room_for_numbers(int count, int boxes) {
    const std::int64_t numbers = std::int64_t{boxes} * blocks_for(count, kSorters) + 1;
    if (numbers > std::numeric_limits<int>::max())
      throw std::runtime_error(text_of(count, " particles on one of ", boxes,
                                       " ranks: a 256th of their product must be below 2^31"));
    ensure(block_number_, numbers);
    ensure(block_offset_, numbers);
    return count > 0 && boxes > 0 ? block_number_.data() : nullptr;
  }
  void sum_boxes(int count, int boxes) {
    const int blocks = blocks_for(count, kSorters), numbers = boxes * blocks + 1;
    if (numbers == 1) {
      wait_(work_, "count");
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
    check_launch();
  }
  // After count_boxes of the same particles.
  template <class Test>
  void pick_boxes(int count, int boxes, const Test& test, DeviceBuffer<unsigned>& picked) {
    if (count == 0 || boxes == 0) return;
    pick_kernel<<<blocks_for(count, kSorters), kSorters, 0, work_>>>(
        count, boxes, test, block_offset_.data(), picked.data());
    check_launch();
  }
  int total(int boxes) const {
    return static_cast<int>(
        std::accumulate(answers_->total, answers_->total + boxes, std::uint64_t(0)));
  }

  // Records for and from other ranks, by rank, `bytes` from one to the next; in the order of ranks.
  template <class T>
  struct Traffic {
    Segments sent, received;
    Places<T> to, from;
  };
  template <class T>
  Traffic<T> traffic(const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from,
                     std::size_t bytes = sizeof(T)) {
    Traffic<T> t;
    const auto add = [&](Segments& segments, int rank, std::int64_t records) {
      if (records) segments.push_back({rank, static_cast<std::size_t>(records) * bytes, nullptr});
    };
    for (int r = 0; r < ranks_.ranks(); ++r) {
      add(t.sent, r, to[static_cast<std::size_t>(r)]);
      add(t.received, r, from[static_cast<std::size_t>(r)]);
    }
    transport_->place(t.sent, t.received);
    t.to = places_of<T>(t.sent, bytes);
    t.from = places_of<T>(t.received, bytes);
    return t;
  }
  // Segments that follow each other in memory are one.
  template <class T>
  static Places<T> places_of(const Segments& segments, std::size_t bytes) {
    Places<T> places{};
    const char* end = nullptr;
    unsigned records = 0;
    for (const Transport::Segment& segment : segments) {
      if (segment.data != end) {
        if (places.count == Places<T>::kMost) throw std::logic_error("segments in too many places");
        places.first[places.count] = records;
        places.data[places.count++] = reinterpret_cast<T*>(segment.data);
      }
      records += static_cast<unsigned>(segment.bytes / bytes);
      places.first[places.count] = records;
      end = segment.data + segment.bytes;
    }
    return places;
  }
  template <class T>
  static dim3 grid_of(const Places<T>& places) {
    unsigned most = 0;
    for (int b = 0; b < places.count; ++b)
      most = std::max(most, places.first[b + 1] - places.first[b]);
    return {static_cast<unsigned>(blocks_for(static_cast<int>(most), kSorters)),
            static_cast<unsigned>(places.count)};
  }

  // Bytes, on all ranks the same: if particles were everywhere as dense as on average, and a tenth
  // more.
  std::size_t largest_segment(double particles) const {
    const Part& own = ranks_.parts()[static_cast<std::size_t>(ranks_.rank())];
    double largest = 0;
    for (const int r : ranks_.neighbours()) {
      double share = 1;
      for (int a = 0; a < 3; ++a)
        share *= common_share(own, ranks_.reached()[static_cast<std::size_t>(r)], a) *
                 (settings_.box.periodic[a] ? 1 : 2);
      largest = std::max(largest, share);
    }
    std::int64_t bytes =
        static_cast<std::int64_t>((1.1 * largest * particles + 256) * sizeof(Ghost<P>));
    ranks_.communicator().maximum(&bytes, 1);
    return static_cast<std::size_t>(bytes);
  }

  void sort(int count, int first_bit, int bits) {
    cub::DoubleBuffer<unsigned> keys(key_[0].data(), key_[1].data()),
        orders(order_[0].data(), order_[1].data());
    std::size_t bytes = 0;
    check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, orders, count, first_bit, bits,
                                          work_),
          "sort");
    ensure(scratch_, bytes);
    check(cub::DeviceRadixSort::SortPairs(scratch_.data(), bytes, keys, orders, count, first_bit,
                                          bits, work_),
          "sort");
    sorted_key_ = keys.Current();
    sorted_ = orders.Current();
  }

  void forget() {
    forget_kernel<<<1, 1, 0, stream_>>>(control_.data(), census_.data());
    check_launch();
  }
  // In answers_ once the event is there.
  void answer() {
    answer_kernel<<<1, 1, 0, work_>>>(control_.data(), census_.data(), bounds_.data(),
                                      answers_.get());
    check_launch();
    answered_.record(work_);
  }
  void ask() {
    answer();
    wait_(cudaEvent_t(answered_), "answer");
  }

  Decomposition ranks_;
  const RankWaits wait_;
  // Before and after stream_, and for what must not wait behind these.
  const Stream first_stream_{Priority::highest, cudaStreamNonBlocking},
      last_stream_{Priority::lowest, cudaStreamNonBlocking},
      rescue_stream_{Priority::highest, cudaStreamNonBlocking};
  std::unique_ptr<Transport> transport_;
  const bool overlap_;
  DeviceBuffer<Census> census_;
  DeviceBuffer<Bounds> bounds_;
  DeviceBuffer<Part> parts_, reached_;
  MappedMemory<Answers> answers_;
  PinnedBuffer<unsigned> totals_;
  Event answered_;
  cudaStream_t work_ = stream_;  // of what comes next
  Depths depths_{};
  DeviceBuffer<CellPlace> inner_cells_, outer_cells_;
  int hosts_ = 0, ghosts_ = 0, owned_capacity_ = 0;
  int outer_ = 0, near_ = 0;  // as in Bounds
  bool lists_lost_ = false;   // by growing memory; made anew before they are used
  State state_[3];
  DeviceBuffer<Velocity> rest_;  // at whole steps
  DeviceBuffer<int3> built_image_;
  DeviceBuffer<Home> home_;
  LinkRows links_;
  DeviceBuffer<LinkWord> link_;  // of links_
  DeviceBuffer<std::uint64_t> known_tag_;
  DeviceBuffer<unsigned> seat_, seat_there_, left_seat_;
  int seats_ = 0, seats_left_ = 0;  // ever taken; of these left again
  DeviceBuffer<unsigned> tag_, place_, picked_, border_, block_number_, block_offset_;
  DeviceBuffer<int2> ghost_range_;  // of each cell
  DeviceBuffer<char> scratch_;
  DeviceBuffer<Ghost<P>> ghost_;  // in the order of ranks
  unsigned *sorted_ = nullptr, *sorted_key_ = nullptr;
};

}  // namespace manymove::dpd
