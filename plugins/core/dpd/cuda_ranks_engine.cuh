// SPDX-License-Identifier: BSD-3-Clause
// The resident engine on the GPUs of several ranks.
//
// Lists are built by all ranks in the same steps, a number of steps apart that follows from how far
// particles came before and, shortly before the end, from how far they have come by then: nobody
// asks in between. If one did come too far, all return to the state of the last build and take
// fewer steps; forces never come from lists in which somebody is missing.
//
// A rank's outer particles, those with ghosts among their neighbours or with copies elsewhere, come
// first in memory: their copies travel while the others move. Those that have outer neighbours are
// next, and the rest never has to do with outer ones within a step, so that the outer ones of the
// next step fill the GPU while the last of these are finished.
#pragma once

#include "cuda_ranks.cuh"

namespace manymove::dpd {

template <class P>
class CudaRanksEngine final : public CudaRanks<P> {
  using Base = CudaRanks<P>;
  using Base::kBuilt;
  using typename Base::Position;
  using typename Base::Real;
  using typename Base::State;
  using typename Base::Triple;
  using typename Base::Velocity;
  static constexpr float kSlack = 0.15f;      // of a step, for forces in the two until a build
  static constexpr std::int64_t kMost = 100;  // steps between builds

 public:
  using Base::Base;

  void advance(std::int64_t steps, bool (*interrupted)()) override try {
    if (steps <= 0) return;
    std::int64_t to = step_ + steps, next = step_ + 1;
    if (!lists_hold_) interval_ = 1;
    start_moving();
    for (;;) {
      // Positions of step `next` are those of now_.
      if (lists_hold_ && next == look_ + 1) decide(next);
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
    this->read_tally(blocks_of(0, count_));
  } catch (...) {
    this->failed();
    throw;
  }

 private:
  using Base::answer, Base::answered_, Base::answers_, Base::ask, Base::ball_, Base::base_,
      Base::bonds_in_order, Base::border_, Base::bounds_, Base::built_, Base::built_image_,
      Base::capacity_, Base::cells_, Base::census_, Base::control_, Base::count_, Base::count_boxes,
      Base::counters_, Base::depths_, Base::ensure, Base::entry_, Base::first_ghost,
      Base::first_stream_, Base::force_, Base::forget, Base::ghost_, Base::ghost_range_,
      Base::ghosts_, Base::grow_lists, Base::has_special_, Base::home_, Base::image_,
      Base::inner_cells_, Base::key_, Base::lanes_, Base::last_stream_, Base::left_seat_,
      Base::links_, Base::lists_hold_, Base::lists_lost_, Base::near_, Base::now_, Base::number_,
      Base::order_, Base::outer_, Base::outer_cells_, Base::overlap_, Base::owned_capacity_,
      Base::partial_, Base::parts_, Base::pick_boxes, Base::picked_, Base::place_, Base::plain_,
      Base::range_, Base::ranks_, Base::reached_, Base::reserve, Base::rest_, Base::seat_,
      Base::seat_there_, Base::seats_, Base::seats_left_, Base::settings_, Base::sort,
      Base::sorted_, Base::sorted_key_, Base::state_, Base::step_, Base::stream_, Base::tag_,
      Base::tag_index, Base::total, Base::transport_, Base::wait_, Base::work_;

  // ---- agreement ----

  struct Opinion {
    std::int64_t expired, segment;  // the latter: largest, bytes
    std::uint32_t lost, beyond, missing, strayed, wanted, soonest, stop;
  };

  // The first that expired, with whom it lost, the soonest, and the largest of the rest.
  Opinion of_all(const Opinion& mine) const {
    std::vector<Opinion> all(ranks_.parts().size());
    ranks_.communicator().gather(&mine, all.data(), sizeof mine);
    Opinion most{};
    most.expired = kNever;
    most.soonest = ~0u;
    for (const Opinion& o : all) most.expired = std::min(most.expired, o.expired);
    for (const Opinion& o : all) {
      if (o.expired == most.expired) most.lost = std::max(most.lost, o.lost);
      most.beyond = std::max(most.beyond, o.beyond);
      most.missing = std::max(most.missing, o.missing);
      most.strayed |= o.strayed;
      most.wanted = std::max(most.wanted, o.wanted);
      most.soonest = std::min(most.soonest, o.soonest);
      most.stop |= o.stop;
      most.segment = std::max(most.segment, o.segment);
    }
    return most;
  }

  // Whether nobody's lists expired before `step`, or at it if no build follows. If somebody's did,
  // all are back at the last build, and the next one comes in time.
  bool agree(std::int64_t step, bool before_build, bool& stop) {
    travelled_ = before_build && lists_hold_ && has_looked_;
    if (travelled_) {
      work_ = ahead();
      if (overlap_) outer_done_.hold(work_);
      travel(outer_);
      work_ = stream_;
    }
    join();
    if (travelled_)
      place(step);
    else if (before_build)
      take_census();
    answer();
    if (travelled_) sort_all();
    wait_(cudaEvent_t(answered_), "step");
    const Control& control = answers_->control;
    const Census& census = answers_->census;
    const Opinion most =
        of_all({control.expired, segment_, control.lost, census.beyond, census.missing,
                census.strayed, control.wanted, census.soonest, stop});
    const std::int64_t expired = most.expired;
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
    travelled_ = travelled_ && !most.strayed;
    if (most.beyond) {
      step_ = step;
      this->lose_particle(most.beyond);
    }
    if (lists_hold_ && !has_looked_) interval_ = interval(step - built_, most.soonest);
    transport_->expect(static_cast<std::size_t>(most.segment));
    stop = most.stop != 0;
    return true;
  }

  // Whether somebody is outside the box, and when the first would be out of the ball.
  void take_census() {
    if (count_ == 0) return;
    census_kernel<P><<<blocks_for(count_, kSorters), kSorters, 0, stream_>>>(
        count_, cells_, base_.motion.frame.open, state_[now_].position.data(),
        state_[now_].velocity.data(), ball_.data(), time_step(), census_.data());
    check_launch();
  }

  // From build to build, if somebody will leave the ball so many steps (as bits) after those that
  // were taken since the last one.
  std::int64_t interval(std::int64_t steps, unsigned soonest) const {
    const auto most = static_cast<float>(steps + 1);
    const float more = std::clamp(as_float(soonest) - kSlack, 0.0f, most);
    return std::min(steps + 1 + static_cast<std::int64_t>(more), kMost);
  }

  // Two steps before the next build: how long will everybody stay in the ball? Hosts tell each
  // other while the GPU takes the step that follows.
  void look_before_build(std::int64_t earliest) {
    look_ = std::max(built_ + 1, until_ - 2);
    if (look_ < earliest || look_ + 1 >= until_) look_ = -1;
  }
  // In a stream that has waited for the positions of this step.
  void look(cudaStream_t stream) {
    check(cudaMemsetAsync(soonest_.data(), 0x7f, sizeof(unsigned), stream), "clear");
    if (count_ > 0) {
      soonest_kernel<P><<<blocks_for(count_, kSorters), kSorters, 0, stream>>>(
          count_, cells_, ball_.data(), time_step(), state_[now_].position.data(),
          state_[now_].velocity.data(), soonest_.data());
      check_launch();
    }
    copy_out(&answers_->soonest, soonest_.data(), sizeof(unsigned), stream);
    looked_.record(stream);
  }
  void decide(std::int64_t next) {
    wait_(cudaEvent_t(looked_), "step");
    std::int64_t sooner = -static_cast<std::int64_t>(answers_->soonest);
    ranks_.communicator().maximum(&sooner, 1);
    interval_ = interval(look_ - built_, static_cast<unsigned>(-sooner));
    until_ = std::max(built_ + interval_, next);
    has_looked_ = true;
    look_before_build(next + 1);
  }
  float time_step() const { return static_cast<float>(settings_.time_step); }

  void return_to_build(std::int64_t until, unsigned wanted) {
    until_ = until;
    look_ = -1;
    has_looked_ = false;
    forget();
    copy_images(built_image_, image_, stream_);
    if (wanted) grow_lists(static_cast<int>(wanted + wanted / 8));
    if (wanted || lists_lost_) {
      list(true);
      list(false);
    }
    now_ = kBuilt;
    follow();
  }

  // What follows in stream_ comes after what is in the other one.
  void join() {
    if (!overlap_) return;
    for (const cudaStream_t other : {cudaStream_t(first_stream_), cudaStream_t(last_stream_)}) {
      joined_.record(other);
      joined_.hold(stream_);
    }
  }
  // The next step comes after what is in stream_.
  void follow() {
    for (const Event* event : {&outer_done_, &near_done_, &far_done_, &ghosts_there_})
      event->record(stream_);
  }

  // ---- building lists ----

  const Part& own() const { return ranks_.parts()[static_cast<std::size_t>(ranks_.rank())]; }
  Absent absent() const { return {control_.data(), own()}; }
  Leaves<P> leaves() const { return {own(), parts_.data(), state_[now_].position.data()}; }
  Travellers<P> particles(State& state, DeviceBuffer<unsigned>& seat) const {
    return {state.position.data(), state.velocity.data(), seat.data()};
  }
  void copy_images(const DeviceBuffer<int3>& from, DeviceBuffer<int3>& to, cudaStream_t stream) {
    if (seats_ == 0) return;
    check(cudaMemcpyAsync(to.data(), from.data(), sizeof(int3) * static_cast<unsigned>(seats_),
                          cudaMemcpyDeviceToDevice, stream),
          "copy");
  }

  // Inner particles, whose lists need no ghosts, are listed while ghosts travel.
  void build(std::int64_t step) {
    if (!travelled_) {
      travel(count_);
      place(step);
      sort_all();
    }
    built_ = step;
    forget();
    settle();
    joined_.record(stream_);
    list(true);
    work_ = ahead();
    joined_.hold(work_);
    find_ghosts();
    list(false);
    copy_images(image_, built_image_, work_);
    work_ = stream_;
    join();
    find_partners();
    follow();
    until_ = step + interval_;
    has_looked_ = false;
    look_before_build(step);
    lists_hold_ = true;
    ++counters_.builds;
  }

  // Who has left, of the first particles, goes to other ranks; those that come are put behind the
  // present ones. Outer ones can be asked while others are on their way: nobody else comes so far
  // in a few steps, and place() looks.
  void travel(int suspects) {
    suspects_ = suspects;
    const int parts = ranks_.ranks();
    count_boxes(suspects, parts, leaves());
    wait_(work_, "migration");
    const std::vector<std::int64_t> to(answers_->total, answers_->total + parts);
    std::vector<std::int64_t> from(to.size());
    ranks_.communicator().transpose(to.data(), from.data());
    leaving_ = static_cast<int>(std::accumulate(to.begin(), to.end(), std::int64_t(0)));
    arriving_ = this->checked_count(std::accumulate(from.begin(), from.end(), std::int64_t(0)));
    ensure(picked_, leaving_);
    reserve(count_ + arriving_, 0);
    const auto here = particles(state_[now_], seat_);
    const Seated seated{image_.data(), home_.data(), links_};
    const std::size_t apart = bytes_with_row(sizeof(Traveller<P>), links_);
    const auto t = this->template traffic<Traveller<P>>(to, from, apart);
    if (leaving_ > 0) {
      pick_boxes(suspects, parts, leaves(), picked_);
      travel_kernel<P>
          <<<this->grid_of(t.to), kSorters, 0, work_>>>(picked_.data(), here, seated, apart, t.to);
      check_launch();
    }
    transport_->exchange(t.sent, t.received, work_);
    if (arriving_ > 0) {
      arrive_kernel<P><<<this->grid_of(t.from), kSorters, 0, work_>>>(
          t.from, apart, count_, FreeSeats{left_seat_.data(), seats_left_, seats_}, here, seated,
          absent());
      check_launch();
    }
  }

  // Where everybody will be in the order of particles; nobody goes there yet.
  void place(std::int64_t step) {
    look_ahead(cells_, settings_.time_step, lists_hold_ ? step - built_ : 0);
    base_.cells = cells_;
    const int present = count_ + arriving_;
    if (present == 0) return;
    place_kernel<P><<<blocks_for(present, kSorters), kSorters, 0, stream_>>>(
        present, suspects_, cells_, base_.motion, depths_,
        ranks_.parts()[static_cast<std::size_t>(ranks_.rank())], state_[now_].position.data(),
        state_[now_].velocity.data(), key_[0].data(), order_[0].data(), census_.data());
    check_launch();
  }
  void sort_all() {
    // By bytes: the two bits of the depth take the place of the least ones within cells.
    const int first_bit = 3 * cells_.bits == 24 && cells_.fine > 0 ? 2 : 0;
    if (const int present = count_ + arriving_) sort(present, first_bit, 3 * cells_.bits + 2);
  }

  void settle() {
    const int taken = std::min(arriving_, seats_left_);
    seats_left_ -= taken;
    seats_ += arriving_ - taken;
    if (leaving_ > 0) {
      leave_seat_kernel<<<blocks_for(leaving_, kSorters), kSorters, 0, stream_>>>(
          leaving_, picked_.data(), seat_.data(), left_seat_.data() + seats_left_);
      check_launch();
      seats_left_ += leaving_;
    }
    count_ += arriving_ - leaving_;
    range_.clear(stream_);
    if (count_ > 0) {
      settle_kernel<P><<<blocks_for(count_, kSorters), kSorters, 0, stream_>>>(
          count_, cells_, base_.motion, base_.shorts, sorted_key_, sorted_,
          particles(state_[now_], seat_), particles(state_[kBuilt], seat_there_),
          state_[kBuilt].shorts.data(), tag_.data(), ball_.data(), range_.data(), bounds_.data());
      check_launch();
    } else {
      bounds_.clear(stream_);
    }
    seat_.swap(seat_there_);
    now_ = kBuilt;
  }

  // In answers_, for each neighbour: the particles that it knows. These are outer ones, of which
  // there are about as many as before; the host hears only now. Returns how many have been looked
  // at.
  int count_known() {
    const int boxes = static_cast<int>(ranks_.neighbours().size());
    int suspects = lists_hold_ ? std::min(outer_ + outer_ / 8 + 1024, count_) : count_;
    for (;; suspects = count_) {
      count_boxes(suspects, boxes, IsKnown{reached_.data(), bounds_.data(), ball_.data()});
      ask();
      outer_ = static_cast<int>(answers_->bounds.outer);
      near_ = static_cast<int>(answers_->bounds.near);
      if (outer_ <= suspects) return suspects;
    }
  }

  void find_ghosts() {
    const auto& neighbours = ranks_.neighbours();
    const int boxes = static_cast<int>(neighbours.size());
    const int suspects = count_known();
    ghosts_to_.assign(ranks_.parts().size(), 0);
    ghosts_from_.assign(ranks_.parts().size(), 0);
    for (int k = 0; k < boxes; ++k)
      ghosts_to_[static_cast<std::size_t>(neighbours[k])] = answers_->total[k];
    ranks_.communicator().transpose(ghosts_to_.data(), ghosts_from_.data());
    known_ = total(boxes);
    ghosts_ = this->checked_count(
        std::accumulate(ghosts_from_.begin(), ghosts_from_.end(), std::int64_t(0)));
    segment_ = *std::max_element(ghosts_to_.begin(), ghosts_to_.end()) *
               static_cast<std::int64_t>(sizeof(Ghost<P>));
    ensure(border_, known_);
    ensure(ghost_, ghosts_);
    reserve(count_, ghosts_);
    State& state = state_[kBuilt];
    const auto t = this->template traffic<Ghost<P>>(ghosts_to_, ghosts_from_);
    if (known_ > 0) {
      // Growing may have moved the particles.
      pick_boxes(suspects, boxes, IsKnown{reached_.data(), bounds_.data(), ball_.data()}, border_);
      show_kernel<P><<<this->grid_of(t.to), kSorters, 0, work_>>>(
          border_.data(), state.position.data(), state.velocity.data(), t.to);
      check_launch();
    }
    transport_->exchange(t.sent, t.received, work_);
    ghost_range_.clear(work_);
    if (ghosts_ == 0) return;
    const int blocks = blocks_for(ghosts_, kSorters);
    ghost_key_kernel<P><<<this->grid_of(t.from), kSorters, 0, work_>>>(
        t.from, cells_, base_.motion, ghost_.data(), key_[0].data(), order_[0].data(), absent());
    check_launch();
    sort(ghosts_, 0, 3 * cells_.bits);
    see_kernel<P><<<blocks, kSorters, 0, work_>>>(
        ghosts_, first_ghost(count_), cells_, base_.motion, base_.shorts, sorted_key_, sorted_,
        ghost_.data(), state.position.data(), state.velocity.data(), state.shorts.data(),
        ball_.data(), place_.data(), ghost_range_.data());
    check_launch();
  }

  void list(bool inner) {
    lists_lost_ = false;
    const auto& cells = inner ? inner_cells_ : outer_cells_;
    if (count_ == 0 || cells.size() == 0) return;
    unsigned excluded = 0;
    for (unsigned k = 1; k < 4; ++k)
      if (settings_.pairs.special[k] == 0) excluded |= 1u << k;
    const ListArguments arguments{cells_,
                                  !base_.motion.frame.tilted,
                                  base_.watch,
                                  range_.data(),
                                  lists(),
                                  seat_.data(),
                                  {nullptr, nullptr, links_, excluded},
                                  ball_.data(),
                                  static_cast<int>(cells.size()),
                                  cells.data(),
                                  inner ? nullptr : ghost_range_.data()};
    const auto kernel = has_special_ ? &list_kernel<P, true, true> : &list_kernel<P, false, true>;
    kernel<<<blocks_for(static_cast<int>(cells.size()), kThreads / 32), kThreads, 0, work_>>>(
        arguments, state_[kBuilt].velocity.data());
    check_launch();
  }
  Lists lists() const {
    return {entry_.data(), number_.data(), capacity_, owned_capacity_, kIntegers<P> ? block() : 0};
  }

  void find_partners() {
    if (links_.bonds == 0 || count_ == 0) return;
    const TagIndex known = tag_index(std::int64_t{count_} + ghosts_);
    const int blocks = blocks_for(count_, kSorters);
    know_bonded_kernel<<<blocks, kSorters, 0, stream_>>>(count_, links_, seat_.data(), tag_.data(),
                                                         bonds_in_order().range, known);
    check_launch();
    if (ghosts_ > 0) {
      know_ghosts_kernel<P><<<blocks_for(ghosts_, kSorters), kSorters, 0, stream_>>>(
          first_ghost(count_), ghosts_, state_[kBuilt].velocity.data(), known);
      check_launch();
    }
    partner_kernel<<<blocks, kSorters, 0, stream_>>>(count_, links_, seat_.data(), tag_.data(),
                                                     known, bonds_in_order(), census_.data());
    check_launch();
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
    s.ball = ball_.data();
    s.bonds = {};
    if (links_.bonds > 0) {
      const BondsInOrder bonds = bonds_in_order();  // which may have grown
      s.bonds = {bonds.range, bonds.index, bonds.type};
    }
    s.image = image_.data();
    s.home = seat_.data();
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
      check_launch();
    }
    follow();
    now_ = after(now_);
    if (lists_hold_ && step_ + 1 != until_) refresh_ghosts();
  }

  // Each part waits for those of the last step that have its neighbours, or that read what it
  // writes. Far particles leave outer ones alone but for bonds, which may be of any length.
  void take_step(std::int64_t step, bool reading) {
    const bool bonds = links_.bonds > 0;
    const cudaStream_t first = ahead();
    // Who leaves before a build should be known early.
    const cudaStream_t outer = overlap_ && !bonds && step + 1 != until_ ? last_stream_ : first;
    if (overlap_) {
      ghosts_there_.hold(outer);
      far_done_.hold(first);
      (bonds ? ghosts_there_ : near_done_).hold(stream_);
    }
    // Whole blocks: those near ones that share a block with outer or far ones wait for both.
    const int outer_end = outer_ / block() * block(),
              near_end = std::min(blocks_of(0, near_) * block(), count_);
    launch_part(step, reading, 0, outer_end, outer);
    outer_done_.record(outer);
    launch_part(step, reading, outer_end, near_end, first);
    if (step == look_) look(first);
    near_done_.record(first);
    launch_part(step, reading, near_end, count_, stream_);
    far_done_.record(stream_);
    if (reading) return;
    now_ = after(now_);
    if (step + 1 != until_) refresh_ghosts();
  }
  int block() const { return kThreads / lanes_; }  // its particles
  int blocks_of(int first, int last) const { return blocks_for(last - first, block()); }
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
  // From a multiple of block() on, so that the members of a block are those of Lists::tile.
  void launch_part(std::int64_t step, bool reading, int first, int last, cudaStream_t stream) {
    if (first == last) return;
    Step<P> s = arguments(step, last, reading);
    s.partial += static_cast<std::size_t>(first / block()) * kTallies;
    const Kernel kernel =
        plain_ ? (reading ? kernel_of<true, true>(lanes_) : kernel_of<true, false>(lanes_))
               : (reading ? kernel_of<false, true>(lanes_) : kernel_of<false, false>(lanes_));
    kernel<<<blocks_of(first, last), kThreads, 0, stream>>>(s, From{first});
    check_launch();
  }

  // Copies of the particles that others know go there, and theirs come; of the present state.
  void refresh_ghosts() {
    const cudaStream_t stream = ahead();
    if (overlap_) outer_done_.hold(stream);
    const State &state = state_[now_], &built = state_[kBuilt];
    const auto t = this->template traffic<Motionless<P>>(ghosts_to_, ghosts_from_);
    if (known_ > 0) {
      pack_kernel<P><<<this->grid_of(t.to), kSorters, 0, stream>>>(
          border_.data(), state.position.data(), state.velocity.data(), t.to);
      check_launch();
    }
    transport_->exchange(t.sent, t.received, stream);
    if (ghosts_ > 0) {
      unpack_kernel<P><<<this->grid_of(t.from), kSorters, 0, stream>>>(
          base_.shorts, place_.data(), t.from, built.position.data(), built.velocity.data(),
          state.position.data(), state.velocity.data(), state.shorts.data());
      check_launch();
    }
    ghosts_there_.record(stream);
  }

  Event outer_done_, near_done_, far_done_, ghosts_there_, joined_, looked_;
  DeviceBuffer<unsigned> soonest_{1};
  int known_ = 0;           // copies elsewhere
  bool travelled_ = false;  // who leaves for the next build has
  int suspects_ = 0, leaving_ = 0, arriving_ = 0;
  bool has_looked_ = false;                            // since the last build
  std::int64_t interval_ = 1, until_ = 0;              // steps from build to build; the next one
  std::int64_t look_ = -1;                             // step, if there will be one
  std::int64_t segment_ = 0;                           // the largest with ghosts, bytes
  std::vector<std::int64_t> ghosts_to_, ghosts_from_;  // by rank
};

}  // namespace manymove::dpd
