// SPDX-License-Identifier: BSD-3-Clause
#include "hand_over.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "../runtime/text.h"
#include "hand_over_on.h"

namespace manymove::hard_particles {
namespace {

// The memory of the host, and messages of the communicator.
class HostMachine {
 public:
  template <class T>
  class Array {
   public:
    T* data() const { return values_.get(); }
    std::size_t size() const { return size_; }

   private:
    friend HostMachine;
    std::unique_ptr<T[]> values_;
    std::size_t size_ = 0;
  };
  struct Segment {
    int rank;
    std::size_t bytes;
    char* data;
  };
  using Segments = std::vector<Segment>;

  explicit HostMachine(Communicator& ranks) : ranks_(ranks) {}
  struct Here {
    ~Here() {}
  };
  static Here use() { return {}; }
  template <class T>
  static void reserve(Array<T>& array, std::size_t n, std::size_t kept) {
    if (n <= array.size_) return;
    std::unique_ptr<T[]> values(new T[n]);
    std::copy_n(array.data(), kept, values.get());
    array.values_ = std::move(values);
    array.size_ = n;
  }
  template <class T>
  static void clear(T* values, std::size_t n) {
    std::fill_n(values, n, T{});
  }
  template <class T>
  static void upload(Array<T>& array, const std::vector<T>& values) {
    reserve(array, values.size(), 0);
    std::copy(values.begin(), values.end(), array.data());
  }
  void fetch(const Count* from, std::size_t) { fetched_ = from; }
  const Count* fetched() const { return fetched_; }
  static void follow(const Engine&) {}
  static void precede(const Engine&) {}
  // Both parts with the first.
  template <class Real>
  static void visit(const Engine& engine, const HandOverWork& work) {
    if (work.part == Part::inner) return;
    Arrivals all;
    const bool whole = work.writes_whole();
    for (const ParticlePosition& own : engine.own_positions())
      hand_over<Real, Part::both>(
          work, {own.particle, own.type, {own.r[0], own.r[1], own.r[2]}, false, false},
          work.held.arrays.index[own.particle], whole, all);
    count(all, work.findings->written);
  }
  template <class Pass>
  static void run(std::size_t n, const Pass& pass) {
    for (std::size_t i = 0; i < n; ++i) pass(i);
  }
  template <class Pass>
  static void add(std::size_t n, const Pass& pass, Tally* tally) {
    if (n == 0) return;
    auto all = pass(0);
    for (std::size_t i = 1; i < n; ++i) all.add(pass(i));
    count(all, *tally);
  }
  static void expect(std::size_t) {}
  void place(Segments& sent, Segments& received) {
    for (auto& [segments, memory] : {std::pair(&sent, &out_), std::pair(&received, &in_)}) {
      std::size_t total = 0;
      for (const Segment& segment : *segments) total += segment.bytes;
      memory->resize(total);
      char* at = memory->data();
      for (Segment& segment : *segments) segment.data = std::exchange(at, at + segment.bytes);
    }
  }
  void exchange(const Segments& sent, const Segments& received) {
    exchange_messages(ranks_, messages_of(sent), messages_of(received), out_, in_);
  }
  void mark(Moment moment) { marks_[moment] = Clock::now(); }
  double seconds(Moment from, Moment to) const {
    return std::chrono::duration<double>(marks_[to] - marks_[from]).count();
  }
  static void end() noexcept {}

 private:
  using Clock = std::chrono::steady_clock;

  static void count(const Arrivals& all, Tally& tally) {
    tally.trace += all.trace;
    tally.particles += all.particles;
    tally.tags += all.tags;
  }
  static void count(const Glance& all, Tally& tally) {
    count(static_cast<const Arrivals&>(all), tally);
    tally.others |= all.others;
    for (int a = 0; a < 3; ++a)
      tally.outside[a] = std::max<Count>(tally.outside[a], bits_of(all.outside[a]));
  }
  static std::vector<Communicator::Message> messages_of(const Segments& segments) {
    std::vector<Communicator::Message> messages;
    for (const Segment& each : segments) messages.push_back({each.rank, each.data, each.bytes});
    return messages;
  }

  Communicator& ranks_;
  std::vector<char> out_, in_;
  const Count* fetched_ = nullptr;
  Clock::time_point marks_[kMoments];
};

}  // namespace

std::array<std::size_t, 3> Domains::place_of(std::int32_t rank) const {
  const auto at =
      static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  if (at == ranks.size()) throw std::runtime_error(text_of("rank ", rank, " has no domain"));
  const std::size_t y = borders[1].size() - 1, z = borders[2].size() - 1;
  return {at / (y * z), at / z % y, at % z};
}

std::unique_ptr<HandOver> make_hand_over(Communicator& ranks, const std::string& device) {
  std::unique_ptr<HandOver> hand_over;
  collective(ranks, [&] {
    const std::vector<int> gpus = cuda_indices(device);
    if (!gpus.empty())
      hand_over = make_cuda_hand_over(ranks, gpus[0]);
    else
      hand_over = std::make_unique<HandOverOn<HostMachine>>(ranks);
  });
  return hand_over;
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<HandOver> make_cuda_hand_over(Communicator&, int) {
  throw std::invalid_argument(why_no_cuda_devices());
}
#endif

}  // namespace manymove::hard_particles
