// Implements the tempered model in both forms.
#include "engine/annealing/tempered_model.h"

#include <cmath>

#include "engine/annealing/at_temperature.h"
#include "kernels/ops/gibbs.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/scratch.h"
#include "kernels/ops/tempering.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {
namespace {

// The cache holds, in this order: U; the target's gradient or differences, if any; U_0; the start's
// gradient or differences, if they depend on the state; the target's own cache.
enum : size_t { kTarget = 0, kTable = 1 };

// Makes `out` a tensor of the shape of `like`, or undefined if that is.
void make_like(torch::Tensor& out, const torch::Tensor& like) {
  if (!like.defined()) {
    out = like;
  } else if (!out.defined() || out.sizes() != like.sizes()) {
    out = torch::empty_like(like);
  }
}

}  // namespace

// A lattice with unary energies (1 − β)·θ_0 + β·θ and couplings β·J, given that the start has no
// edges.
class TemperedModel::Scaled : public LatticeModel {
 public:
  Scaled(LatticeModel& target, LatticeModel* start, torch::Tensor beta)
      : target_(target), start_(start), beta_(std::move(beta)) {}

  std::string kind_name() const override { return target_.kind_name(); }
  StateSpace space() const override { return target_.space(); }
  torch::Tensor energy(const torch::Tensor& x) override {
    const torch::Tensor u = beta_ * target_.energy(x);
    return start_ ? u + (1 - beta_) * start_->energy(x) : u;
  }

  std::vector<torch::Tensor> lattice_sources() const override {
    std::vector<torch::Tensor> all = target_.lattice_sources();
    if (start_) {
      for (const torch::Tensor& source : start_->lattice_sources()) all.push_back(source);
    }
    all.push_back(beta_);
    return all;
  }

 protected:
  ops::LatticeTensors make_lattice() const override {
    const double beta = beta_.item<double>();
    ops::LatticeTensors lattice = target_.lattice(beta_.device());
    lattice.unary = beta * lattice.unary;
    lattice.coupling = beta * lattice.coupling;
    lattice.constant *= beta;
    if (start_) {
      const ops::LatticeTensors& start = start_->lattice(beta_.device());
      lattice.unary = lattice.unary + (1 - beta) * start.unary;
      lattice.constant += (1 - beta) * start.constant;
    }
    ops::round_for_exact_sums(lattice);
    return lattice;
  }

 private:
  LatticeModel& target_;
  LatticeModel* start_;
  torch::Tensor beta_;
};

TemperedModel::TemperedModel(EnergyModel& target, const Factorised* start, torch::Device device,
                             Form form, int64_t betas)
    : target_(target),
      start_(start ? &start->model() : nullptr),
      beta_(torch::full({betas}, start ? 0.0 : 1.0,
                        torch::TensorOptions(torch::kFloat64).device(device))),
      flat_start_(start && start->uniform()),
      target_temperature_(temperature_of(target)) {
  HasBase* built = isinglass::on_base(target_);
  starts_at_base_ = start_ && built && built->base() == start_;
  LatticeModel* lattice = target_.as_lattice();
  is_lattice_ = lattice && betas == 1 && form == Form::kLattice && !start_;
  if (lattice && !is_lattice_ && (!start || start->uniform())) {
    lattice_ = lattice;
  } else if (lattice && betas == 1 && !(start && start->limited())) {
    scaled_ = std::make_unique<Scaled>(*lattice, start_ ? start_->as_lattice() : nullptr, beta_);
  }
  if (start_ && start->independent() && target_.differentiable() && space().discrete()) {
    const auto any =
        torch::zeros({1, space().sites}, torch::TensorOptions(torch::kUInt8).device(device));
    start_gradient_ = start_->energy_and_grad(any).gradient[0];
  }
}

TemperedModel::~TemperedModel() = default;

std::string TemperedModel::title() const {
  return "the annealed energy of " + kind_name();
}

// Returns one β per chain, as sweeps and fused lattice steps of a lattice take it.
torch::Tensor TemperedModel::beta_of_chains(int64_t chains) {
  if (beta_.size(0) == chains) return beta_;
  return ops::scratch_tensor<double>(chain_beta_, {chains}, beta_).copy_(beta_);
}

void TemperedModel::mix(torch::Tensor& out, const torch::Tensor& start,
                        const torch::Tensor& target) const {
  ops::mix(start, target, beta_, out);
}

TemperedModel::Parts TemperedModel::parts(bool gradient, bool differences) const {
  const bool start = start_ != nullptr;
  return {start, gradient, differences, start && gradient && !start_gradient_.defined()};
}

TemperedModel::Parts TemperedModel::parts_of(const Evaluation& known) const {
  return parts(known.gradient.defined(), known.differences.defined());
}

void TemperedModel::evaluate_start(const torch::Tensor& x, const Parts& parts,
                                   Evaluation& start) const {
  if (!start_ || (starts_at_base_ && !parts.start_gradient && !parts.differences)) return;
  if (flat_start_ && !parts.start_gradient) {
    if (!start.energy.defined() || start.energy.size(0) != x.size(0)) {
      start.energy = torch::empty({x.size(0)}, x.options().dtype(torch::kFloat64));
    }
    start.energy.zero_();  // the sampler's buffers are uninitialised
  } else if (parts.start_gradient) {
    start_->evaluate(x, start);
  } else {
    start_->evaluate_energy(x, start);
  }
}

Evaluation TemperedModel::start_in(const Evaluation& known, const Parts& parts) const {
  Evaluation start;
  if (!start_ || known.cache.size() < parts.own() || parts_of(known) != parts) return start;
  start.energy = known.cache[parts.start_energy()];
  if (parts.differences) start.differences = known.cache[parts.start_table()];
  if (parts.start_gradient) start.gradient = known.cache[parts.start_table()];
  return start;
}

Evaluation TemperedModel::target_in(const Evaluation& known, const Parts& parts) const {
  Evaluation target;
  if (known.cache.size() < parts.own() || parts_of(known) != parts) return target;
  target.energy = known.cache[kTarget];
  if (parts.differences) target.differences = known.cache[kTable];
  if (parts.gradient) target.gradient = known.cache[kTable];
  target.cache.assign(known.cache.begin() + static_cast<int64_t>(parts.own()), known.cache.end());
  return target;
}

void TemperedModel::combine(Evaluation& start, const Evaluation& target, Evaluation& out) const {
  if (starts_at_base_) {
    // The energy within the target's has the same rounding at every β.
    make_like(start.energy, target.energy);
    start.energy.copy_(isinglass::on_base(target_)->base_in(target).energy);
  }
  out.cache = {target.energy};
  if (target.gradient.defined()) out.cache.push_back(target.gradient);
  if (target.differences.defined()) out.cache.push_back(target.differences);
  if (start_) out.cache.push_back(start.energy);
  if (start.differences.defined()) out.cache.push_back(start.differences);
  if (start.gradient.defined()) out.cache.push_back(start.gradient);
  out.cache.insert(out.cache.end(), target.cache.begin(), target.cache.end());
  make_like(out.energy, target.energy);
  make_like(out.gradient, target.gradient);
  make_like(out.differences, target.differences);
  out.target = target.energy;
  recombine(out);
}

void TemperedModel::recombine(Evaluation& out) const {
  recombine_energy(out);
  recombine_table(out);
}

void TemperedModel::recombine_energy(Evaluation& out) const {
  mix(out.energy, start_ ? out.cache[parts_of(out).start_energy()] : torch::Tensor(),
      out.cache[kTarget]);
}

void TemperedModel::recombine_table(Evaluation& out) const {
  const Parts parts = parts_of(out);
  if (!parts.differences && !parts.gradient) return;
  const torch::Tensor& table = out.cache[kTable];
  torch::Tensor start;  // undefined: zeros
  if (parts.has_start_table() && !flat_start_) {
    start = out.cache[parts.start_table()];
  } else if (parts.gradient && start_ && !flat_start_) {
    start = start_gradient_;  // one row for all states
  }
  mix(parts.differences ? out.differences : out.gradient, start, table);
}

torch::Tensor TemperedModel::energy(const torch::Tensor& x) {
  const torch::Tensor target = target_.energy(x).to(torch::kFloat64);
  TORCH_CHECK(x.size(0) % beta_.size(0) == 0, "the number of betas does not divide the ", x.size(0),
              " states");
  const torch::Tensor beta = beta_.repeat_interleave(x.size(0) / beta_.size(0));
  if (!start_) return beta * target;
  const torch::Tensor start = start_->energy(x).to(torch::kFloat64);
  return start + beta * (target - start);
}

void TemperedModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  if (is_lattice_) return scaled_->evaluate_energy(x, out);
  const Parts parts = this->parts(false, false);
  Evaluation start = start_in(out, parts), target = target_in(out, parts);
  evaluate_start(x, parts, start);
  target_.evaluate_energy(x, target);
  combine(start, target, out);
}

void TemperedModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  if (is_lattice_) return scaled_->evaluate(x, out);
  const Parts parts = this->parts(true, false);
  Evaluation start = start_in(out, parts), target = target_in(out, parts);
  evaluate_start(x, parts, start);
  target_.evaluate(x, target);
  combine(start, target, out);
}

void TemperedModel::evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                                   const torch::Tensor& y, bool gradient, Evaluation& out) {
  if (is_lattice_) return scaled_->evaluate_moved(x, at_x, y, gradient, out);
  const Parts parts = this->parts(gradient, false);
  Evaluation start = start_in(out, parts), target = target_in(out, parts);
  evaluate_start(y, parts, start);
  target_.evaluate_moved(x, target_in(at_x, parts_of(at_x)), y, gradient, target);
  combine(start, target, out);
}

void TemperedModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  if (is_lattice_) return scaled_->evaluate_differences(x, out);
  const Parts parts = this->parts(false, true);
  Evaluation start = start_in(out, parts), target = target_in(out, parts);
  if (start_) isinglass::evaluate_differences(*start_, x, start);
  difference_calls_ = isinglass::evaluate_differences(target_, x, target);
  combine(start, target, out);
}

EnergyModel* TemperedModel::base() {
  return starts_at_base_ ? start_ : nullptr;
}

Evaluation TemperedModel::base_in(const Evaluation& known) const {
  return isinglass::on_base(target_)->base_in(target_in(known, parts_of(known)));
}

void TemperedModel::evaluate_on_base(const torch::Tensor& y, bool gradient, Evaluation& out) {
  const Parts parts = this->parts(gradient, false);
  Evaluation start = start_in(out, parts), target = target_in(out, parts);
  evaluate_start(y, parts, start);
  isinglass::on_base(target_)->evaluate_on_base(y, gradient, target);
  combine(start, target, out);
}

// In parts, Evaluation::target is the cached energy of the target already, unless that is U/T.
// Parallel tempering keeps the energies of its target without their parts.
void TemperedModel::flush_energy(const torch::Tensor&, Evaluation& current) {
  const bool in_parts = !is_lattice_ && !current.cache.empty();
  if (in_parts && target_temperature_ == 1) return;
  if (!current.target.defined() || (in_parts && current.target.is_same(current.cache[kTarget]))) {
    current.target = torch::empty_like(current.energy);
  }
  if (in_parts) {
    at::mul_out(current.target, current.cache[kTarget],
                torch::scalar_tensor(target_temperature_, current.energy.options()));
  } else {
    at::div_out(current.target, current.energy, beta_);
    if (target_temperature_ != 1) current.target.mul_(target_temperature_);
  }
}

HasEnergyDifferences* TemperedModel::exact_differences() {
  return is_lattice_ ? scaled_->exact_differences() : this;
}

LatticeModel* TemperedModel::as_lattice() {
  return is_lattice_ ? scaled_.get() : nullptr;
}

HasLocalSteps* TemperedModel::local_steps() {
  if (is_lattice_) return scaled_.get();
  return lattice_ ? this : nullptr;
}

LocalTensors TemperedModel::local_tensors(Evaluation& current) {
  const bool has_table = current.gradient.defined() || current.differences.defined();
  return {current.cache[kTarget], has_table ? current.cache[kTable] : torch::Tensor(),
          beta_of_chains(current.energy.size(0))};
}

HasConditionals* TemperedModel::conditionals() {
  if (is_lattice_) return scaled_.get();
  return target_.conditionals() ? this : nullptr;
}

HasSweeps* TemperedModel::sweeps() {
  if (is_lattice_) return scaled_.get();
  return scaled_ || lattice_ ? this : nullptr;
}

void TemperedModel::conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                            torch::Tensor& out) {
  torch::Tensor target = ops::scratch_tensor<double>(of_target_, out.sizes(), out), start;
  target_.conditionals()->conditional_differences(x, site, target);
  if (start_) {
    start = ops::scratch_tensor<double>(of_start_, out.sizes(), out);
    start_->conditionals()->conditional_differences(x, site, start);
  }
  mix(out, start, target);
  site_ = site;
  target_differences_ = target;
  start_differences_ = start;
}

// Adds to each part the difference at the value that was drawn, which is 0 if the value did not
// change. This is done on a CPU only, because on a GPU the host would have to wait to learn whether
// the energies are finite.
void TemperedModel::update_after_move(const torch::Tensor& x, Evaluation& current) {
  const Parts parts = this->parts(false, false);
  if (!x.is_cpu() || current.cache.size() > parts.own()) return evaluate_energy(x, current);
  const double sum =
      ops::add_drawn_differences(x, site_, target_differences_, current.cache[kTarget]) +
      (start_ ? ops::add_drawn_differences(x, site_, start_differences_,
                                           current.cache[parts.start_energy()])
              : 0);
  if (!std::isfinite(sum)) return evaluate_energy(x, current);
  recombine_energy(current);
}

int64_t TemperedModel::gibbs_sweeps(int64_t steps, const torch::Tensor& rng,
                                    const torch::Tensor& chain_ids, torch::Tensor& x,
                                    Evaluation& current, ops::StepBuffers& counts) {
  if (lattice_) {  // U_0 is constant
    lattice_->tempered_sweeps(steps, beta_of_chains(x.size(0)), rng, chain_ids, x,
                              current.cache[kTarget], counts, back_);
    recombine(current);
    return steps;
  }
  scaled_->tempered_sweeps(steps, {}, rng, chain_ids, x, current.energy, counts, back_);
  evaluate_energy(x, current);
  return steps + 1;
}

void TemperedModel::set_beta(double beta) {
  beta_.fill_(beta);
}

void TemperedModel::set_beta(const torch::Tensor& beta) {
  beta_.copy_(beta);
}

void TemperedModel::reevaluate(const Sampler& sampler, ChainState& state) {
  if (is_lattice_) {
    sampler.reevaluate(*this, state);
  } else {
    recombine(state.current);
  }
}

const torch::Tensor& TemperedModel::target_energy(const Evaluation& current) const {
  return current.cache[kTarget];
}

const torch::Tensor& TemperedModel::start_energy(const Evaluation& current) const {
  return current.cache[parts_of(current).start_energy()];
}

torch::Tensor TemperedModel::slope(const Evaluation& current) const {
  const torch::Tensor& u = current.cache[kTarget];
  return start_ ? current.cache[parts_of(current).start_energy()] - u : -u;
}

}  // namespace isinglass
