// SPDX-License-Identifier: BSD-3-Clause
// The resident engine on threads of the CPU, of one rank or several. A step is one pass over the
// particles, as on the GPU: forces, both halves of the kick, and the way to the next positions.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <span>

#include "../../runtime/simd.h"
#include "../charges/cpu/cpu_charges.h"
#include "../engine_base.h"
#include "../particle_records.h"
#include "ghosts.h"
#include "key_sort.h"
#include "particle_loops.h"
#include "rank_links.h"
#include "rigid_particles.h"

namespace manymove::dpd {
namespace {

template <Precision P>
class CpuEngine final : public EngineBase {
  using Real = typename P::Real;
  using Position = typename P::Position;
  using Velocity = typename P::Velocity;
  using Force = Vector<Real>;
  static constexpr bool kCoarseApart = sizeof(typename P::Unsigned) != 4;

 public:
  CpuEngine(const Settings& settings, int threads, Communicator* communicator)
      : EngineBase(settings, communicator),
        pool_(threads),
        shares_(pool_.size()),
        kernels_(best_level<StepKernels<P>>(MANYMOVE_LEVELS)),
        half_kicks_(half_kicks_of<P>(settings)),
        thermostats_(thermostat_coefficients_of<P>(settings)),
        terms_(bonded_terms_of<P>(settings.box)),
        candidates_(static_cast<std::size_t>(pool_.size())),
        rigid_(settings) {
    take_coefficients();
    set_laws(arguments_, terms_, laws_[0]);
    arguments_.transverse = settings.pairs.transverse;
    arguments_.excluded = excluded_kinds(settings.pairs);
    if (has_bonded_terms(settings)) arguments_.terms = &terms_;
    arguments_.motion = motion_of<P>(settings, half_kicks_.data(), thermostats_.data());
    has_densities_ = settings.pairs.has_densities();
    if (settings.charges.any()) charges_.emplace(settings_of_tilted_box(), pool_, communicator);
    if (communicator) ranks_ = decomposition_of(settings_of_tilted_box(), *communicator);
  }

  std::string device() const override { return "cpu"; }
  std::string transport() const override { return ranks_ ? "MPI" : ""; }

  void download(const HostArrays& arrays) override {
    const auto arrival_of_own = [this](int i) {
      return arrival_of<P>(frame_, origin_[i].index, position_[i], velocity_[i], force_[i],
                           flux_of(i), image_[i]);
    };
    for_each_index(pool_, count_, [&](int i) {
      if (origin_[i].rank == rank()) arrival_of_own(i).enter(arrays);
    });
    if (!ranks_) return;
    std::vector<std::vector<Arrival>> leaving(ranks_->ranks());
    for (int i = 0; i < count_; ++i)
      if (origin_[i].rank != rank())
        leaving[static_cast<std::size_t>(origin_[i].rank)].push_back(arrival_of_own(i));
    for (const Arrival& arrival : deliver(*communicator_, std::move(leaving)))
      arrival.enter(arrays);
  }

  void set_origins(int count, const std::uint32_t* tag) override {
    if (!ranks_) throw std::logic_error("particles of one rank stay where they are");
    std::vector<std::uint32_t> resident(static_cast<std::size_t>(count_));
    for (int i = 0; i < count_; ++i) resident[i] = velocity_[i].tag;
    origin_ = find_origins(*communicator_, resident, count, tag);
  }

  EngineCounters counters() const override { return counters_; }
  std::vector<RigidBody> rigid_bodies() const override { return rigid_.bodies(frame_); }

 private:
  Vector<double> flux_of(int i) const { return flux_.empty() ? Vector<double>{} : flux_[i]; }
  void make_room(std::size_t n) {
    const auto resize = [n](auto&... each) { (each.resize(n), ...); };
    resize(position_, velocity_, force_, image_, origin_);
    flux_.resize(has_scalars<P> ? n : 0);
  }
  void take_particles(const HostArrays& arrays, const Topology& topology) override {
    const auto n = static_cast<std::size_t>(std::max(arrays.count, 0));
    count_ = 0;  // none, if one of them is refused
    check_together([&] {
      make_room(n);
      force_.assign(n, Force{});
      for (std::size_t i = 0; i < n; ++i) {
        int images[3] = {};
        if (arrays.image) std::copy_n(arrays.image[i], 3, images);
        if (!enter_frame<P>(frame_, arrays.position[i], position_[i], images))
          refuse_particle(topology.tag[i], arrays.position[i]);
        image_[i] = {images[0], images[1], images[2]};
        // kind: the type in bits 0 to 15, flags above.
        position_[i].kind = static_cast<std::uint32_t>(topology.type[i]) | topology.flags[i] << 16;
        const Force v = vector_from<Real>(arrays.velocity[i]);
        velocity_[i] = {v.x, v.y, v.z, topology.tag[i]};
        origin_[i] = {rank(), static_cast<std::int32_t>(i)};
        if (arrays.force) force_[i] = vector_from<Real>(arrays.force[i]);
        if constexpr (has_scalars<P>) {
          velocity_[i].set_scalars(vector_from<double>(arrays.scalars[i]));
          flux_[i] = vector_from<double>(arrays.flux[i]);
        }
      }
    });
    if (charges_) check_together([&] { charges_->take(arrays, topology); });
    check_together([&] { rigid_.take(topology.rigid, frame_); });
    links_.take(arrays.count, topology, communicator_);
    count_ = arrays.count;
    rigid_.find(pool_, count_, position_, velocity_);
    everywhere_ = ranks_ ? ranks_->sum(count_) : count_;
    set_cells();
    // As many partial sums of a particle's force as a GPU has threads for it: the same order of
    // additions.
    arguments_.lanes = lanes_of(ranks_ ? static_cast<int>(everywhere_ / ranks_->ranks()) : count_);
    arguments_.plain = is_plain_with(links_.any_specials());
    lists_built_ = -1;
    expired_ = true;
    lost_ = 0;
  }

  std::optional<Misplaced> replace(int count, const std::uint32_t*, const double (*position)[3],
                                   const double (*velocity)[3]) override {
    const auto hosted = static_cast<std::size_t>(count);
    std::optional<Misplaced> misplaced;
    if (position) {
      // If several are misplaced, the message names one of them.
      std::mutex lock;
      for_each_value(hosted, position, [&](int i, const double r[3]) {
        int image[3] = {};
        if (enter_frame<P>(frame_, r, position_[i], image)) return;
        const std::lock_guard<std::mutex> guard(lock);
        misplaced = {velocity_[i].tag, {r[0], r[1], r[2]}};
      });
    }
    for_each_value(hosted, velocity,
                   [&](int i, const double v[3]) { set_components(velocity_[i], v); });
    return misplaced;
  }

  // Calls work(i, value) with the value that the host of each of the rank's particles has for it.
  // This host has value[hosted].
  void for_each_value(std::size_t hosted, const double (*value)[3], auto work) {
    std::vector<std::array<double, 3>> fetched;
    if (ranks_) fetched = fetch_from_origins(*communicator_, origin_, value, hosted);
    for_each_index(pool_, count_,
                   [&](int i) { work(i, ranks_ ? fetched[i].data() : value[origin_[i].index]); });
  }

  // ---- steps ----

  void take(std::int64_t steps, bool (*interrupted)()) override {
    stretched_ = broken_ = 0;
    follow_shear();
    if (is_dilated()) move_in_box();
    move_from_rest();
    // At the top of the loop velocities are those half a step before the positions.
    for (bool last = false; !last; ++counters_.steps) {
      ++step_;
      follow_shear();
      follow_dilation();
      last = --steps == 0 || (interrupted && interrupted());
      if (ranks_) vote(last);
      judge_bonds(stretched_, broken_);
      if (lost_) lose_particle(lost_);
      if (ranks_ && !expired_) refresh_ghosts();
      build();
      step(last, last && (has_scalars<P> || sums_wanted_ || steps > 0));
    }
    judge_bonds_of_all(stretched_, broken_);
  }

  // The frame of the present step, and that of the way to the next one.
  void follow_shear() {
    if (!is_sheared()) return;
    replace_box(step_, [&](bool smaller) {
      for_each_index(pool_, count_, [&](int i) {
        change_tilt(settings_.shear, smaller, position_[i], image_[i]);
      });
      expired_ = true;
    });
    if (lists_built_ >= 0 && shear_ends_lists(lists_built_, step_)) expired_ = true;
    tilt_frame(step_);
    present_ = frame_of_step<P>(step_, 0);
    arguments_.motion.frame = frame_of_step<P>(step_, 1);
    tilt_cells(arguments_.cells, step_);
    if (charges_) charges_->set_tilt(tilt_of(step_));
  }

  // Particles move in the box of the frame, and have left their spheres by its lengths.
  void move_in_box() {
    arguments_.motion.frame = frame_of<P>(frame_.box);
    arguments_.cells.edges = frame_of<Mixed>(frame_.box).edges;
  }
  void follow_dilation() {
    if (!is_dilated()) return;
    if (dilation_ends_lists(step_)) expired_ = true;
    frame_.box = box_of_step(step_);
    move_in_box();
    present_ = arguments_.motion.frame;
    terms_.edges = bonded_terms_of<P>(frame_.box).edges;
  }

  void take_coefficients() override {
    laws_.clear();
    for (const Coefficients& table : tables()) laws_.push_back(laws_of<P>(settings_with(table)));
    arguments_.plain = is_plain_with(links_.any_specials());
  }

  Moments own_moments(const Addends& addends) override {
    return moments_of(pool_, count_, addends, moment_units_.by_type(), position_, velocity_);
  }
  double own_largest_square() override {
    return largest_square(pool_, count_, moment_units_.by_type(), position_, velocity_);
  }
  const ProfileWords& own_profile(const Profile& profile, const double* units) override {
    return profile_of<P>(
        pool_, profile, units,
        {count_, frame_, settings_.mass.data(), position_.data(), velocity_.data(), force_.data()},
        profile_parts_);
  }
  void apply_map(const VelocityMap& map, std::uint32_t flag) override {
    for_each_index(pool_, count_, [&](int i) { apply(map, flag, position_[i], velocity_[i]); });
  }

  // Calls work(chunk, number) for each chunk of the rank's particles, in threads.
  void for_all_chunks(auto work) {
    const int chunks = (count_ + kChunk - 1) / kChunk;
    chunk_.resize(static_cast<std::size_t>(chunks));
    shares_.run(pool_, chunks, [&](int k, int thread) {
      chunk_[k] = Chunk(k * kChunk, std::min(count_, (k + 1) * kChunk));
      work(chunk_[k], k, thread);
    });
  }
  void look_at_chunks() {
    for (const Chunk& chunk : chunk_) {
      expired_ = expired_ || chunk.expired;
      lost_ = std::max(lost_, chunk.lost);
      stretched_ = std::max(stretched_, chunk.stretched);
      broken_ = std::max(broken_, chunk.broken);
    }
  }

  void point_at_particles() {
    set_time(arguments_.motion, step_);
    // Where lists have expired anyway, no margin of a sphere is read any more.
    arguments_.sphere = expired_ ? nullptr : sphere_.data();
    arguments_.position = position_.data();
    arguments_.velocity = velocity_.data();
    arguments_.near = kCoarseApart ? words(coarse_) : words(position_);
    arguments_.number = number_.data();
    arguments_.image = image_.data();
    arguments_.force = force_.data();
    arguments_.flux = flux_.data();
    arguments_.total = rigid_.forces(velocity_.size());
  }

  void move_from_rest() {
    point_at_particles();
    arguments_.next_position = position_.data();
    arguments_.next_velocity = velocity_.data();
    coarse_.resize(kCoarseApart ? position_.size() : 0);
    arguments_.next_near = kCoarseApart ? words(coarse_) : nullptr;
    for_all_chunks([this](Chunk& chunk, int, int) { kernels_.begin(arguments_, chunk); });
    look_at_chunks();
    move_bodies(BodyPhase::begin);
  }

  // After the particles' part of a step, whose forces are known.
  void move_bodies(BodyPhase phase) {
    if (!rigid_.any()) return;
    const auto outcome =
        rigid_.step(pool_, communicator_, phase, frame_, {position_, velocity_, coarse_, image_},
                    arguments_.cells, arguments_.sphere);
    expired_ = expired_ || outcome.expired;
    lost_ = std::max(lost_, outcome.lost);
  }

  // The last one ends at rest, with forces.
  void step(bool last, bool sums) {
    arguments_.rests = last;
    set_laws(arguments_, terms_, laws_[table_of(step_)]);
    set_noise(arguments_.forces, step_);
    // Forces are those of the box at this step; the drift ends in the box of the next one.
    if (is_sheared() || is_dilated()) arguments_.forces.frame = present_;
    arguments_.limit = limit_of(arguments_.cells, settings_.cutoff);
    point_at_particles();
    // Out of place: other threads still read the velocities of this step, on which friction
    // depends.
    next_velocity_.resize(velocity_.size());
    arguments_.next_velocity = next_velocity_.data();
    if (!last) {
      next_position_.resize(position_.size());
      arguments_.next_position = next_position_.data();
      next_coarse_.resize(coarse_.size());
      arguments_.next_near = kCoarseApart ? words(next_coarse_) : nullptr;
    }
    if (has_densities_) find_densities();
    EnergyAndVirial of_charges;
    if (charges_) find_charge_forces(sums ? &of_charges : nullptr);
    for_all_chunks(
        [&](Chunk& chunk, int k, int) { kernels_.step(arguments_, sums, list_[k].data(), chunk); });
    velocity_.swap(next_velocity_);
    look_at_chunks();
    if (!last) {
      position_.swap(next_position_);
      coarse_.swap(next_coarse_);
      return move_bodies(BodyPhase::middle);
    }
    move_bodies(BodyPhase::rest);
    energy_and_virial_ = of_charges;
    energy_and_virial_.constraints = rigid_.constraints();
    // In the order of chunks, whichever threads had them: the same bits with any number of threads.
    for (const Chunk& chunk : chunk_) add_to(energy_and_virial_, chunk.energy_and_virial);
  }

  // Densities at the present positions. Those of ghosts come from the ranks that own the particles.
  void find_densities() {
    density_.resize(position_.size());
    arguments_.density = density_.data();
    arguments_.density_limit = limit_of(arguments_.cells, settings_.pairs.many_body.cutoff);
    for_all_chunks(
        [&](Chunk& chunk, int k, int) { kernels_.density(arguments_, list_[k].data(), chunk); });
    if (!ranks_) return;
    ghosts_.update<Real>(
        pool_, *ranks_, [&](int i) { return density_[i]; },
        [&](int i, Real density) { density_[i] = density; });
  }

  // Forces of charges at the present positions; they stay zero for all other particles.
  void find_charge_forces(EnergyAndVirial* sums) {
    charges_->forces(position_, sums, [&](int i, const Vector<double>& force) {
      charged_[i] = vector_of<Real>(force);
    });
    arguments_.charged = charged_.data();
  }

  // ---- lists ----

  // Spheres of particles from first to before last, and their places in memory; then their order.
  void find_keys(int first, int last) {
    point_at_particles();
    sphere_.resize(position_.size());
    key_.resize(position_.size());
    for_each_range(pool_, last - first, [&](int from, int to) {
      kernels_.place(arguments_, first + from, first + to, sphere_.data(), key_.data());
    });
  }
  const std::vector<std::uint32_t>& order_of(int first, int last) {
    find_keys(first, last);
    return sort_.run(pool_, std::span(key_).subspan(first, last - first),
                     3 * arguments_.cells.bits);
  }

  void look_for_escaped() {
    std::int64_t of_all =
        largest_outside(pool_, arguments_.motion.frame.open, count_, position_, velocity_);
    maximum(&of_all, 1);
    if (of_all) lose_particle(static_cast<std::uint32_t>(of_all));
  }

  // Sorts the particles and lists their neighbors, if some may be missing.
  void build() {
    if (!expired_) return;
    look_for_escaped();
    if (is_dilated()) check_together([&] { fit_cells(arguments_.cells, step_, everywhere_); });
    if (ranks_ && is_dilated()) share_box();
    if (ranks_)
      migrate();
    else if (lists_built_ >= 0)
      find_bounding_spheres(arguments_.cells, step_ - lists_built_);
    lists_built_ = step_;
    arrange();
    // A bond leads beyond what this rank knows: all ranks extend their reach, and find the places
    // again with the additional ghosts.
    while (!find_partners()) {
      know_more();
      arrange();
    }
    rigid_.find(pool_, count_, position_, velocity_);
    list_neighbors();
    if (charges_) {
      charges_->find(count_, velocity_);
      charged_.assign(static_cast<std::size_t>(count_), Force{});
    }
    ++counters_.builds;
    expired_ = false;
  }

  // Sorts the particles by cell; ghosts follow them.
  void arrange() {
    const auto& order = order_of(0, count_);
    reorder(pool_, position_, next_position_, order);
    reorder(pool_, velocity_, next_velocity_, order);
    reorder(pool_, image_, next_image_, order);
    reorder(pool_, origin_, next_origin_, order);
    links_.reorder(pool_, order);
    if (ranks_) find_ghosts();
    // Spheres and keys again, in the new order and with the ghosts at the end.
    find_keys(0, static_cast<int>(position_.size()));
    coarse_.resize(kCoarseApart ? position_.size() : 0);
    for_each_index(pool_, static_cast<int>(coarse_.size()),
                   [&](int i) { coarse_[i] = coarse_position_of(position_[i]); });
    find_cells(pool_, arguments_.cells, count_, key_, cell_, range_);
  }

  void set_cells() {
    arguments_.cells = cells_of(settings_of_tilted_box(), static_cast<double>(everywhere_),
                                ranks_ ? &ranks_->here() : nullptr);
    find_bounding_spheres(arguments_.cells, 0);
  }

  // Cells and the parts of ranks for the box of the settings, and for the ranks' reach.
  void share_box() {
    *ranks_ = decomposition_of(settings_of_tilted_box(), *communicator_, beyond_lists());
    set_cells();
  }

  void list_neighbors() {
    const std::int64_t most = most_candidates(range_, position_.size());
    number_.resize(static_cast<std::size_t>(count_));
    arguments_.number = number_.data();
    arguments_.sphere = sphere_.data();
    arguments_.cell = cell_.data();
    arguments_.range[0] = range_[0].data();
    arguments_.range[1] = ranks_ ? range_[1].data() : nullptr;
    arguments_.links = links_.any_specials() ? links_.rows() : LinkedParticles{};
    list_.resize(static_cast<std::size_t>((count_ + kChunk - 1) / kChunk));
    std::atomic<bool> out_of_memory = false;
    for_all_chunks([&](Chunk& chunk, int k, int thread) {
      try {
        const Candidates candidates = candidates_[thread].with_room_for(static_cast<int>(most));
        chunk.entries = list_chunk(kernels_, arguments_, chunk, candidates, list_[k]);
        if (rigid_.excludes()) chunk.entries = rigid_.exclude(chunk, list_[k], number_);
      } catch (const std::bad_alloc&) {
        out_of_memory = true;
      }
    });
    if (out_of_memory) throw std::bad_alloc();
    counters_.neighbors = 0;
    for (const Chunk& chunk : chunk_) counters_.neighbors += chunk.entries;
  }

  // ---- several ranks ----

  int rank() const { return ranks_ ? ranks_->rank() : 0; }

  // All ranks stop, or build lists, when one of them has to.
  void vote(bool& stop) {
    // Flags and tags: the largest of all ranks is an "or" of flags, and the same particle for all.
    std::int64_t of_all[4] = {expired_, lost_, stop, broken_};
    maximum(of_all, 4);
    expired_ = of_all[0] != 0;
    lost_ = static_cast<std::uint32_t>(of_all[1]);
    stop = of_all[2] != 0;
    broken_ = static_cast<std::uint32_t>(of_all[3]);
  }

  // Particles that are in other parts of the box go there.
  void migrate() {
    std::vector<std::vector<Migrant<P>>> leaving(ranks_->ranks());
    std::vector<std::vector<LinkWord>> rows(leaving.size());
    std::size_t stay = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
      const Position& p = position_[i];
      const int to = ranks_->owner(high_word(p.x), high_word(p.y), high_word(p.z));
      const Migrant<P> migrant{p, velocity_[i], image_[i], origin_[i]};
      if (to == rank()) {
        links_.stay(i, stay);
        settle(stay++, migrant);
        continue;
      }
      leaving[static_cast<std::size_t>(to)].push_back(migrant);
      links_.leave(i, rows[static_cast<std::size_t>(to)]);
    }
    const auto arrived = deliver(*communicator_, std::move(leaving));
    links_.migrate(*communicator_, stay, std::move(rows));
    count_ = checked_count(static_cast<std::int64_t>(stay + arrived.size()));
    make_room(static_cast<std::size_t>(count_));
    for (const Migrant<P>& migrant : arrived) settle(stay++, migrant);
  }
  void settle(std::size_t i, const Migrant<P>& migrant) {
    position_[i] = migrant.position;
    velocity_[i] = migrant.velocity;
    image_[i] = migrant.image;
    origin_[i] = migrant.origin;
  }

  // Copies of particles near the parts of other ranks are kept behind the own ones, by cell.
  void find_ghosts() {
    const auto arrived = ghosts_.find<Ghost<P>>(
        *ranks_, count_, [&](int i) { return Ghost<P>{position_[i], velocity_[i]}; });
    for (const Ghost<P>& ghost : arrived) {
      position_.push_back(ghost.position);
      velocity_.push_back(ghost.velocity);
    }
    const auto& order = order_of(count_, static_cast<int>(position_.size()));
    next_position_.resize(position_.size());
    next_velocity_.resize(position_.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t at = static_cast<std::size_t>(count_) + k;
      position_[at] = next_position_[at] = arrived[order[k]].position;
      velocity_[at] = next_velocity_[at] = arrived[order[k]].velocity;
    }
    ghosts_.place(count_, order);
  }

  // After reach_farther().
  void know_more() {
    share_box();
    if (is_sheared()) tilt_cells(arguments_.cells, step_);
    // The ghosts of the build that is repeated are dropped.
    position_.resize(static_cast<std::size_t>(count_));
    velocity_.resize(static_cast<std::size_t>(count_));
  }

  void refresh_ghosts() {
    ghosts_.update<GhostUpdate<P>>(
        pool_, *ranks_, [&](int i) { return GhostUpdate<P>::of(position_[i], velocity_[i]); },
        [&](int i, const GhostUpdate<P>& update) {
          update.act_on(position_[i], velocity_[i]);
          if (kCoarseApart) coarse_[i] = coarse_position_of(position_[i]);
        });
  }

  // ---- bonds ----

  // Returns whether this rank has all partners. If it does not, the reach of all ranks is extended.
  bool find_partners() {
    MissingPartners missing = links_.find_partners(pool_, count_, velocity_);
    arguments_.bonds = links_.bonds();
    if (links_.any_bonds()) maximum(missing.tag, 2);
    if (!missing.any()) return true;
    reach_farther(missing, step_);
    return false;
  }

  ThreadPool pool_;
  SharedLoop shares_;
  const StepKernels<P> kernels_;
  std::vector<Laws<P>> laws_;  // by table of coefficients
  const std::vector<Real> half_kicks_, thermostats_;
  BondedTerms terms_;
  StepArguments<P> arguments_ = {};
  CoordinateFrame<P> present_{};  // of a box that changes, at the present step
  int count_ = 0;
  std::int64_t everywhere_ = 0;    // particles of all ranks
  std::int64_t lists_built_ = -1;  // at this step
  bool expired_ = true, has_densities_ = false;
  std::uint32_t lost_ = 0, stretched_ = 0, broken_ = 0;
  // Of the rank, then ghosts; next: of the next step, or in another order.
  std::vector<Position> position_, next_position_;
  std::vector<Velocity> velocity_, next_velocity_;
  std::vector<CoarsePosition> coarse_, next_coarse_;  // in double precision
  std::vector<Image> image_, next_image_;
  std::vector<Origin> origin_, next_origin_;
  std::vector<Force> force_, charged_;  // of all, and by charges alone
  std::vector<Vector<double>> flux_;    // of scalars
  std::vector<ProfileWords> profile_parts_;
  std::vector<Real> density_;
  std::vector<BoundingSphere> sphere_;
  std::vector<std::uint32_t> key_;
  std::vector<int> cell_, number_;
  std::vector<CellRange> range_[2];  // of each cell: of the rank, and ghosts
  std::vector<Chunk> chunk_;
  std::vector<std::vector<std::uint32_t>> list_;  // of each chunk
  std::vector<CandidateMemory> candidates_;       // of each thread
  KeySort sort_;
  RankLinks links_;
  RigidParticles<P> rigid_;
  std::optional<CpuCharges> charges_;
  std::optional<BrickDecomposition> ranks_;  // if there are several
  GhostExchange ghosts_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(const Settings& settings, int threads,
                                        Communicator* communicator) {
  const auto make = [&]<Precision P>() -> std::unique_ptr<Engine> {
    return std::make_unique<CpuEngine<P>>(settings, threads, communicator);
  };
  return for_precision(settings.pairs, make);
}

}  // namespace manymove::dpd
