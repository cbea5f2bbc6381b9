// SPDX-License-Identifier: BSD-3-Clause
// DPD on a core: pairs within the cutoff are collected in batches, whose forces are then computed
// side by side in SIMD registers. Compiled once per SIMD level; nothing here may instantiate what
// other sources also instantiate.
#include "../../runtime/vec.h"  // first: the templates of model.h must see its operators
//
#include "../settings.h"
#include "pair_kernels.h"

namespace manymove::dpd::MANYMOVE_SIMD {
namespace {

constexpr int kBatch = 1024;
// An entry of the host's list: the index in bits 0 to 28, the kind of special neighbor in bits 30
// and 31 (LAMMPS' NEIGHMASK and SBBITS).
constexpr int kIndexMask = 0x1fffffff;
static_assert(kBatch % kLanes == 0);

// pair_words() for up to kBatch pairs; the arrays have room for whole vectors.
struct Words {
  std::uint32_t radius[kBatch], angle[kBatch];
  Words(const NoiseKey& key, int count, const std::uint32_t* tag_i, const std::uint32_t* tag_j) {
    for (int n = 0; n < count; n += kLanes) {
      UintLanes i, j, word[2];
      std::memcpy(&i, tag_i + n, sizeof i);
      std::memcpy(&j, tag_j + n, sizeof j);
      pair_words(word, key, i, j);
      std::memcpy(radius + n, &word[0], sizeof i);
      std::memcpy(angle + n, &word[1], sizeof i);
    }
  }
};

// pair_noise() for up to kBatch pairs.
template <class F>
void draw(const NoiseKey& key, int count, const std::uint32_t* tag_i, const std::uint32_t* tag_j,
          F* noise) {
  const Words words(key, count, tag_i, tag_j);
  for (int n = 0; n < count; ++n)
    noise[n] = static_cast<F>(gaussian(words.radius[n], words.angle[n]));
}

// vector_and_scalar_noise() of up to kBatch pairs; scalar may be null.
template <class F>
void draw_vectors(const NoiseKey& key, int count, const std::uint32_t* tag_i,
                  const std::uint32_t* tag_j, F* x, F* y, F* z, F* scalar = nullptr) {
  const Words words(key, count, tag_i, tag_j);
  for (int n = 0; n < count; ++n) {
    const std::uint32_t turn = turn_of_pair(tag_i[n], tag_j[n]);
    float first, second, third, fourth;
    // Each word gives two normal variables.
    two_gaussians(words.radius[n], turn, first, second);
    two_gaussians(words.angle[n], turn, third, fourth);
    x[n] = static_cast<F>(first);
    y[n] = static_cast<F>(second);
    z[n] = static_cast<F>(third);
    if (scalar) scalar[n] = static_cast<F>(as_float(bits_of(fourth) ^ turn));
  }
}

// Coefficients of many pairs side by side.
template <class F, int room>
struct LawArrays {
  F a[room], gamma[room], sigma[room], inverse_cutoff[room], weight_exponent[room];

  MM_LANES void set(int n, const PairLaw<F>& law) {
    a[n] = law.a;
    gamma[n] = law.gamma;
    sigma[n] = law.sigma;
    inverse_cutoff[n] = law.inverse_cutoff;
    weight_exponent[n] = law.weight_exponent;
  }
  MM_LANES PairLaw<F> of(int n) const {
    return {a[n], gamma[n], sigma[n], inverse_cutoff[n], weight_exponent[n]};
  }
};
template <class F, int room>
struct TransverseLawArrays {
  F gamma[room], sigma[room], weight_exponent[room];

  MM_LANES void set(int n, const TransverseLaw<F>& law) {
    gamma[n] = law.gamma;
    sigma[n] = law.sigma;
    weight_exponent[n] = law.weight_exponent;
  }
  MM_LANES TransverseLaw<F> of(int n) const { return {gamma[n], sigma[n], weight_exponent[n]}; }
};

// Potentials of kLennardJones, with the factors of special neighbors.
template <class F, int room>
struct PotentialArrays {
  F cutoff_squared[room], first[room], second[room], shift[room], factor[room];

  MM_LANES void set(int n, const PotentialLaw<F>& law, F special) {
    cutoff_squared[n] = law.cutoff_squared;
    first[n] = law.first;
    second[n] = law.second;
    shift[n] = law.shift;
    factor[n] = special;
  }
  // add_potential(), without branches.
  MM_LANES void add(int n, F squared, PairForce<F>& pair) const {
    const PairForce<F> added = lennard_jones(first[n], second[n], shift[n], squared);
    const bool within = squared < cutoff_squared[n] && squared > F(0);
    const F over_distance = fused(factor[n], added.over_distance, pair.over_distance),
            energy = fused(factor[n], added.energy, pair.energy);
    pair.over_distance = within ? over_distance : pair.over_distance;
    pair.energy = within ? energy : pair.energy;
  }
};

// Pairs within the cutoff; F is the precision of a pair.
template <class F>
struct Batch {
  int count = 0;
  int i[kBatch], j[kBatch];
  double dx[kBatch], dy[kBatch], dz[kBatch];
  F squared_distance[kBatch], approach[kBatch], noise[kBatch];
  LawArrays<F, kBatch> law;
  F force[kBatch], energy[kBatch], densities[kBatch];
  // For transverse forces: differences of velocities, noise (its third component is `noise`),
  // coefficients, and the forces on i.
  F u[kBatch], v[kBatch], w[kBatch], x_noise[kBatch], y_noise[kBatch];
  TransverseLawArrays<F, kBatch> across;
  Vector<F> vector[kBatch];
  std::uint32_t tag_i[kBatch] = {}, tag_j[kBatch] = {};
};

template <class F>
class PairLoop {
 public:
  PairLoop(const PairTable& table, const Particles& particles, const NoiseKey& key,
           const RowRange& rows, const PairCallback* callback)
      : table_(table), particles_(particles), key_(key), rows_(rows), callback_(callback) {
    for (int k = 0; k < 4; ++k) {
      special_[k] = static_cast<F>(table.special[k]);
      root_[k] = square_root(static_cast<F>(table.special[k]));
    }
    for (int i = 1; i <= table.types; ++i) {
      for (int j = 1; j <= table.types; ++j) {
        // Where all exponents are 1, w_R = 1 - r / r_c needs no power function.
        if (of(i, j).weight_exponent != 1) general_ = true;
        if (table.transverse && of(i, j).transverse_exponent != 1) general_ = true;
      }
    }
    if (table.has_densities()) many_body_ = many_body_of<F>(table.many_body);
  }

  void run(const NeighborList& list) {
    for (int k = rows_.first; k < rows_.last; ++k) {
      const int i = list.particle[k], number = list.number[i];
      for (int from = 0; from < number; from += kBatch) {
        const int some = number - from < kBatch ? number - from : kBatch;
        // A particle's neighbors stay together as far as a batch holds them.
        if (batch_.count + some > kBatch) flush();
        collect(i, list.first[i] + from, some);
      }
    }
    flush();
    *rows_.count = stored_;
    if (rows_.energy) *rows_.energy = energy_;
  }

 private:
  const PairCoefficients& of(int i, int j) const {
    return table_.coefficients[i * (table_.types + 1) + j];
  }

  // Appends the neighbors within the largest cutoff, without a branch for each.
  void collect(int i, const int* neighbor, int number) {
    const double x = particles_.position[i][0], y = particles_.position[i][1],
                 z = particles_.position[i][2];
    const double limit = table_.largest_cutoff * table_.largest_cutoff;
    int n = batch_.count;
    for (int k = 0; k < number; ++k) {
      const double* other = particles_.position[neighbor[k] & kIndexMask];
      // r_ij = r_i - r_j: ghosts of the host are at the nearest images already.
      const double dx = x - other[0], dy = y - other[1], dz = z - other[2];
      const double squared = dx * dx + dy * dy + dz * dz;
      batch_.i[n] = i;
      batch_.j[n] = neighbor[k];
      batch_.dx[n] = dx;
      batch_.dy[n] = dy;
      batch_.dz[n] = dz;
      batch_.squared_distance[n] = static_cast<F>(squared);
      n += squared < limit ? 1 : 0;  // the next neighbor overwrites one that is too far
    }
    batch_.count = n;
  }

  // r_ij . v_ij, tags and coefficients of all pairs. For special neighbors, the factor f multiplies
  // a and gamma, and its root multiplies sigma, so that sigma^2 = 2 gamma k_B T holds (Eq. 9).
  void prepare() {
    Batch<F>& b = batch_;
    for (int n = 0; n < b.count; ++n) {
      const int i = b.i[n], j = b.j[n] & kIndexMask;
      const double* u = particles_.velocity[i];
      const double* v = particles_.velocity[j];
      b.approach[n] = static_cast<F>(b.dx[n] * (u[0] - v[0]) + b.dy[n] * (u[1] - v[1]) +
                                     b.dz[n] * (u[2] - v[2]));
      b.tag_i[n] = particles_.tag[i];
      b.tag_j[n] = particles_.tag[j];
    }
    for (int n = 0; n < b.count; ++n) {
      const int kind = static_cast<int>(static_cast<unsigned>(b.j[n]) >> 30);
      const int j = b.j[n] & kIndexMask;
      const PairCoefficients& c = of(particles_.type[b.i[n]], particles_.type[j]);
      b.j[n] = j;
      b.law.set(n, {special_[kind] * static_cast<F>(c.a), special_[kind] * static_cast<F>(c.gamma),
                    root_[kind] * static_cast<F>(c.sigma), static_cast<F>(c.inverse_cutoff),
                    static_cast<F>(c.weight_exponent)});
      if (table_.transverse) {
        b.across.set(n, {special_[kind] * static_cast<F>(c.transverse_gamma),
                         root_[kind] * static_cast<F>(c.transverse_sigma),
                         static_cast<F>(c.transverse_exponent)});
        const double* u = particles_.velocity[b.i[n]];
        const double* v = particles_.velocity[j];
        b.u[n] = static_cast<F>(u[0] - v[0]);
        b.v[n] = static_cast<F>(u[1] - v[1]);
        b.w[n] = static_cast<F>(u[2] - v[2]);
      }
      // f (rho_i + rho_j) of the many-body force.
      if (particles_.density)
        b.densities[n] =
            special_[kind] * static_cast<F>(particles_.density[b.i[n]] + particles_.density[j]);
    }
  }

  // Where several images of a particle are neighbors, each pair has its own random numbers.
  void draw_for_images() {
    Batch<F>& b = batch_;
    for (int n = 0; n < b.count; ++n) {
      const std::uint32_t i = b.tag_i[n], j = b.tag_j[n];
      const std::uint32_t image = image_of_pair(particles_.image[b.j[n]], i, j);
      if (image) b.noise[n] = static_cast<F>(pair_noise(image_key(key_, image), i, j));
    }
  }

  void draw_transverse() {
    Batch<F>& b = batch_;
    draw_vectors(key_, b.count, b.tag_i, b.tag_j, b.x_noise, b.y_noise, b.noise);
    if (!particles_.image) return;
    for (int n = 0; n < b.count; ++n) {
      const std::uint32_t i = b.tag_i[n], j = b.tag_j[n];
      const int* shift = particles_.image[b.j[n]];
      const std::uint32_t image = image_of_pair(shift, i, j);
      if (!image) continue;
      const std::uint32_t turn = order_of_pair(shift, i, j) > 0 ? 0 : half_turn;
      const Vector<float> noise = transverse_noise(image_key(key_, image), i, j, turn);
      b.x_noise[n] = static_cast<F>(noise.x);
      b.y_noise[n] = static_cast<F>(noise.y);
      // The third component has its place in the noise of a central pair.
      b.noise[n] = static_cast<F>(noise.z);
    }
  }

  // Forces along and across the line of centers, as vectors.
  template <bool general>
  void evaluate_transverse() {
    Batch<F>& b = batch_;
    draw_transverse();
    for (int n = 0; n < b.count; ++n) {
      PairLaw<F> law = b.law.of(n);
      const TransverseLaw<F> across = b.across.of(n);
      if constexpr (!general) law = beyond_transverse(law, across);
      const Vector<F> r{static_cast<F>(b.dx[n]), static_cast<F>(b.dy[n]), static_cast<F>(b.dz[n])};
      const VectorForce<F> f = transverse_force<general>(law, across, r, {b.u[n], b.v[n], b.w[n]},
                                                         {b.x_noise[n], b.y_noise[n], b.noise[n]});
      b.vector[n] = f.force;
      b.force[n] = 0;
      b.energy[n] = f.energy;
    }
  }

  // Eqs. 3 to 5: f_ij = [a w - gamma w_R^2 (e . v) + sigma w_R xi] e_ij, as force over distance.
  template <bool general>
  void evaluate() {
    if (table_.transverse) return evaluate_transverse<general>();
    Batch<F>& b = batch_;
    draw(key_, b.count, b.tag_i, b.tag_j, b.noise);
    if (particles_.image) draw_for_images();
    for (int n = 0; n < b.count; ++n) {
      const PairForce<F> f =
          pair_force<general>(b.law.of(n), b.squared_distance[n], b.approach[n], b.noise[n]);
      b.force[n] = f.over_distance;
      b.energy[n] = f.energy;
    }
    // Many-body forces: B (rho_i + rho_j) w_d(r) e_ij.
    if (!particles_.density) return;
    for (int n = 0; n < b.count; ++n) {
      PairForce<F> f{b.force[n], b.energy[n]};
      add_many_body(many_body_, b.squared_distance[n], b.densities[n], f);
      b.force[n] = f.over_distance;
      b.energy[n] = f.energy;
    }
  }

  void flush() {
    Batch<F>& b = batch_;
    prepare();
    if (general_)
      evaluate<true>();
    else
      evaluate<false>();
    if (rows_.contributions)
      store();
    else
      add();
    if (rows_.energy) {
      for (int n = 0; n < b.count; ++n)
        // A pair with a ghost that feels no reaction is counted by the other rank, too.
        energy_ += (b.j[n] < rows_.reacting ? 1.0 : 0.5) * static_cast<double>(b.energy[n]);
    }
    if (callback_) {
      for (int n = 0; n < b.count; ++n) report(n);
    }
    b.count = 0;
  }

  void report(int n) {
    const Batch<F>& b = batch_;
    double force[3];
    force_of(n, force);
    callback_->call(callback_->context, b.i[n], b.j[n], static_cast<double>(b.energy[n]),
                    static_cast<double>(b.force[n]), table_.transverse ? force : nullptr, b.dx[n],
                    b.dy[n], b.dz[n]);
  }

  // On particle i of a pair.
  void force_of(int n, double force[3]) const {
    const Batch<F>& b = batch_;
    const double f = static_cast<double>(b.force[n]);
    force[0] = f * b.dx[n];
    force[1] = f * b.dy[n];
    force[2] = f * b.dz[n];
    if (!table_.transverse) return;
    force[0] = static_cast<double>(b.vector[n].x);
    force[1] = static_cast<double>(b.vector[n].y);
    force[2] = static_cast<double>(b.vector[n].z);
  }

  // f_i += f_ij and, by Newton's third law, f_j -= f_ij where j feels the reaction.
  void add() {
    const Batch<F>& b = batch_;
    double (*force)[3] = rows_.force;
    for (int n = 0; n < b.count; ++n) {
      const int i = b.i[n], j = b.j[n];
      double of_pair[3];
      force_of(n, of_pair);
      const double fx = of_pair[0], fy = of_pair[1], fz = of_pair[2];
      force[i][0] += fx;
      force[i][1] += fy;
      force[i][2] += fz;
      if (j < rows_.reacting) {
        force[j][0] -= fx;
        force[j][1] -= fy;
        force[j][2] -= fz;
      }
    }
  }

  void store() {
    const Batch<F>& b = batch_;
    for (int n = 0; n < b.count; ++n) {
      // In the order of the list: the sum over them keeps the order of a single thread.
      PairContribution& contribution = rows_.contributions[stored_++];
      contribution.i = b.i[n];
      contribution.j = b.j[n];
      force_of(n, contribution.force);
    }
  }

  const PairTable& table_;
  const Particles& particles_;
  const NoiseKey key_;
  const RowRange rows_;
  const PairCallback* const callback_;
  int stored_ = 0;
  double energy_ = 0;
  bool general_ = false;
  F special_[4], root_[4];
  ManyBody<F> many_body_{};
  Batch<F> batch_;
};

// The density of a particle, rho_i = sum_j w_rho(r_ij) with w_rho = 15 / (2 pi r_d^3) (1 - r /
// r_d)^2, from all its neighbors.
template <class F>
double density_of(const PairTable& table, const ManyBody<F>& law, const Particles& particles, int i,
                  const int* neighbor, int number) {
  const double* r = particles.position[i];
  F squared[kBatch], factor[kBatch];
  double sum = 0;
  for (int from = 0; from < number; from += kBatch) {
    const int some = number - from < kBatch ? number - from : kBatch;
    for (int n = 0; n < some; ++n) {
      const int entry = neighbor[from + n];
      const double* other = particles.position[entry & kIndexMask];
      const double x = r[0] - other[0], y = r[1] - other[1], z = r[2] - other[2];
      squared[n] = static_cast<F>(x * x + y * y + z * z);
      factor[n] = static_cast<F>(table.special[static_cast<unsigned>(entry) >> 30]);
    }
    for (int n = 0; n < some; ++n) factor[n] = with_neighbor(law, squared[n], factor[n], F(0));
    // In the order of the list, at every SIMD level.
    for (int n = 0; n < some; ++n) sum += static_cast<double>(factor[n]);
  }
  return sum * static_cast<double>(law.density_scale);
}

template <class F>
void find_densities_in(const PairTable& table, const Particles& particles, const NeighborList& list,
                       int first, int last, double* density) {
  const ManyBody<F> law = many_body_of<F>(table.many_body);
  for (int k = first; k < last; ++k) {
    const int i = list.particle[k];
    density[i] = density_of(table, law, particles, i, list.first[i], list.number[i]);
  }
}
void find_densities_of_rows(const PairTable& table, const Particles& particles,
                            const NeighborList& list, int first, int last, double* density) {
  if (table.double_precision)
    find_densities_in<double>(table, particles, list, first, last, density);
  else
    find_densities_in<float>(table, particles, list, first, last, density);
}

void add_rows(const PairTable& table, const Particles& particles, const NeighborList& list,
              const NoiseKey& key, const RowRange& rows, const PairCallback* callback) {
  if (table.double_precision)
    PairLoop<double>(table, particles, key, rows, callback).run(list);
  else
    PairLoop<float>(table, particles, key, rows, callback).run(list);
}

void draw_noise(const NoiseKey& key, int count, const std::uint32_t* tag_i,
                const std::uint32_t* tag_j, float* noise) {
  // In arrays of their own, because draw() reads whole vectors, beyond the last pair.
  std::uint32_t i[kBatch] = {}, j[kBatch] = {};
  for (int from = 0; from < count; from += kBatch) {
    const int some = count - from < kBatch ? count - from : kBatch;
    std::memcpy(i, tag_i + from, sizeof(std::uint32_t) * static_cast<unsigned>(some));
    std::memcpy(j, tag_j + from, sizeof(std::uint32_t) * static_cast<unsigned>(some));
    draw(key, some, i, j, noise + from);
  }
}

}  // namespace

void use(Kernels& kernels) { kernels = {&add_rows, &find_densities_of_rows, &draw_noise}; }

}  // namespace manymove::dpd::MANYMOVE_SIMD

#include "list_kernels.h"
#include "step_kernels.h"

namespace manymove::dpd::MANYMOVE_SIMD {

void use(StepKernels<Mixed>& kernels) {
  using P = Mixed;
  kernels = {&begin<P>, &step<P>, &find_densities<P>, &place<P>, &list<P>};
}
void use(StepKernels<Double>& kernels) {
  using P = Double;
  kernels = {&begin<P>, &step<P>, &find_densities<P>, &place<P>, &list<P>};
}
void use(StepKernels<MixedWithScalars>& kernels) {
  using P = MixedWithScalars;
  kernels = {&begin<P>, &step<P>, nullptr, &place<P>, &list<P>};
}
void use(StepKernels<DoubleWithScalars>& kernels) {
  using P = DoubleWithScalars;
  kernels = {&begin<P>, &step<P>, nullptr, &place<P>, &list<P>};
}

}  // namespace manymove::dpd::MANYMOVE_SIMD
