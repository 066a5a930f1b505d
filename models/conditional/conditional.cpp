// Implements conditional models.
#include "models/conditional/conditional.h"

#include <cmath>

#include "models/combined/shifted.h"
#include "models/conditional/chain_rows.h"
#include "models/conditional/differences_in_turn.h"
#include "models/lattice/lattice_model.h"
#include "models/network/rbm.h"

namespace isinglass {

ConditionalModel::ConditionalModel(std::shared_ptr<EnergyModel> joint, FixedSites fixed)
    : WrappedModel(std::move(joint)), fixed_(std::move(fixed)) {
  register_buffer("fixed_values", fixed_.values());
  register_buffer("free_sites", fixed_.sites());
}

std::string ConditionalModel::title() const {
  return inner().title() + " given some of its sites";
}

torch::Tensor ConditionalModel::base_mean() const {
  const torch::Tensor mean = inner().base_mean();
  return mean.defined() && fixed_.same_sites() ? mean.index_select(0, fixed_.sites()[0])
                                               : torch::Tensor();
}

torch::Tensor ConditionalModel::energy(const torch::Tensor& x) {
  const torch::Tensor u =
      inner().energy(x.is_floating_point() ? fixed_.complete_relaxed(x) : fixed_.complete(x));
  return fixed_.spare().defined() ? u + fixed_.spare_energy(x.size(0)) : u;
}

// Returns the joint model's part of an evaluation. It shares the tensors of `known`, except that
// the gradient and the differences are those of all sites.
Evaluation ConditionalModel::joint_part(const Evaluation& known) const {
  Evaluation joint;
  joint.energy = known.energy;
  joint.cache = known.cache;
  return joint;
}

// Returns memory for a gradient or differences of all sites at the states x; `table`: [B, D, K].
torch::Tensor ConditionalModel::all_sites(ops::Scratch& scratch, const torch::Tensor& x,
                                          bool table) {
  const int64_t shape[] = {x.size(0), fixed_.whole().sites, space().categories};
  return ops::scratch_tensor<float>(scratch, at::IntArrayRef(shape, table ? 3 : 2), x);
}

void ConditionalModel::take(const Evaluation& joint, Evaluation& out) {
  out.energy = joint.energy;
  out.cache = joint.cache;
  if (fixed_.spare().defined()) out.energy.add_(fixed_.spare_energy(out.energy.size(0)));
  if (joint.gradient.defined()) fixed_.restrict(joint.gradient, out.gradient);
  if (joint.differences.defined()) fixed_.restrict(joint.differences, out.differences);
}

void ConditionalModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  Evaluation joint = joint_part(out);
  inner().evaluate_energy(fixed_.complete(x, at_x_), joint);
  take(joint, out);
}

void ConditionalModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  Evaluation joint = joint_part(out);
  joint.gradient = all_sites(gradient_, x, space().one_hot());
  inner().evaluate(fixed_.complete(x, at_x_), joint);
  take(joint, out);
}

void ConditionalModel::evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                                      const torch::Tensor& y, bool gradient, Evaluation& out) {
  Evaluation joint = joint_part(out), before = joint_part(at_x);
  if (fixed_.spare().defined()) {
    before.energy = ops::scratch_tensor<double>(before_, at_x.energy.sizes(), at_x.energy);
    at::sub_out(before.energy, at_x.energy, fixed_.spare_energy(x.size(0)));
  }
  if (gradient) joint.gradient = all_sites(gradient_, y, space().one_hot());
  inner().evaluate_moved(fixed_.complete(x, at_x_), before, fixed_.complete(y, at_y_), gradient,
                         joint);
  take(joint, out);
}

HasConditionals* ConditionalModel::conditionals() {
  return inner().conditionals() ? this : nullptr;
}

void ConditionalModel::conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                               torch::Tensor& out) {
  inner().conditionals()->conditional_differences(fixed_.complete(x, at_x_),
                                                  fixed_.sites_of(site, sites_), out);
  const torch::Tensor spare = fixed_.spare_at(site);
  if (spare.defined()) out.masked_fill_(spare.unsqueeze(1), 0);
}

void ConditionalModel::update_after_move(const torch::Tensor& x, Evaluation& current) {
  Evaluation joint = joint_part(current);
  inner().conditionals()->update_after_move(fixed_.complete(x, at_x_), joint);
  current.energy = joint.energy;
  current.cache = joint.cache;
}

HasEnergyDifferences* ConditionalModel::exact_differences() {
  return inner().exact_differences() || fixed_.rows() > 1 ? this : nullptr;
}

int64_t ConditionalModel::difference_calls() const {
  HasEnergyDifferences* exact = inner().exact_differences();
  return exact ? exact->difference_calls() : 1 + space().neighbours();
}

void ConditionalModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  HasEnergyDifferences* exact = inner().exact_differences();
  if (!exact) return differences_in_turn(*this, x, out);
  Evaluation joint = joint_part(out);
  joint.differences = all_sites(differences_, x, space().kind != StateKind::kBinary);
  exact->evaluate_differences(fixed_.complete(x, at_x_), joint);
  take(joint, out);
}

HasSweeps* ConditionalModel::sweeps() {
  return dynamic_cast<RbmModel*>(&inner()) ? this : nullptr;
}

int64_t ConditionalModel::gibbs_sweeps(int64_t steps, const torch::Tensor& rng,
                                       const torch::Tensor& chain_ids, torch::Tensor& x,
                                       Evaluation& current, ops::StepBuffers& counts) {
  auto& rbm = dynamic_cast<RbmModel&>(inner());
  if (!fixed_rows_.defined() || fixed_rows_.device() != x.device()) {
    fixed_rows_ = fixed_.free().logical_not();
  }
  const torch::Tensor held = ops::scratch_tensor<bool>(held_, {x.size(0), fixed_rows_.size(1)}, x);
  held.copy_(rows_for_chains(fixed_rows_, x.size(0)));
  torch::Tensor whole = fixed_.complete(x, at_x_);
  const int64_t calls = rbm.sweep(steps, rng, chain_ids, whole, current.cache.at(0), current.energy,
                                  counts, {}, held);
  fixed_.update(whole, x);
  if (fixed_.spare().defined()) current.energy.add_(fixed_.spare_energy(x.size(0)));
  return calls;
}

namespace {

// A lattice of the free sites, made anew when the joint lattice changes:
//
//   u'_{i,k} = u_{i,k} − Σ_{j fixed} c_ij(k, x_j)
//   constant' = constant + Σ_{i fixed} u_{i,x_i} − Σ_{i,j fixed} c_ij(x_i, x_j)
class ConditionalLattice : public LatticeModel {
 public:
  ConditionalLattice(std::shared_ptr<EnergyModel> joint, FixedSites fixed)
      : joint_(register_module("joint", std::move(joint))), fixed_(std::move(fixed)) {
    register_buffer("fixed_values", fixed_.values());
    register_buffer("free_sites", fixed_.sites());
  }

  std::string kind_name() const override { return joint_->kind_name(); }
  std::string title() const override { return joint_->title() + " given some of its sites"; }
  StateSpace space() const override { return fixed_.space(); }
  torch::Tensor base_mean() const override {
    const torch::Tensor mean = joint_->base_mean();
    return mean.defined() ? mean.index_select(0, fixed_.sites()[0]) : mean;
  }
  torch::Tensor energy(const torch::Tensor& x) override {
    return joint_->energy(x.is_floating_point() ? fixed_.complete_relaxed(x) : fixed_.complete(x));
  }
  std::vector<torch::Tensor> lattice_sources() const override {
    return lattice_of_joint().lattice_sources();
  }

 protected:
  ops::LatticeTensors make_lattice() const override {
    const ops::LatticeTensors& joint = lattice_of_joint().lattice(lattice_of_joint().device());
    const torch::Tensor value = fixed_.values()[0].cpu().to(torch::kInt64);
    const torch::Tensor free = fixed_.sites()[0].cpu();
    const torch::Tensor offset = joint.offset.cpu(),
                        column = joint.neighbour.cpu().to(torch::kInt64);
    const torch::Tensor coupling = joint.coupling.cpu(), unary = joint.unary.cpu();
    const int64_t sites = value.size(0);
    // −1 at fixed sites, otherwise the number of the site among the free ones.
    torch::Tensor number = torch::full({sites}, -1, torch::kInt64);
    number.index_copy_(0, free, torch::arange(free.size(0)));
    const torch::Tensor row = torch::arange(sites).repeat_interleave(offset.diff());
    const torch::Tensor from = number.index_select(0, row), to = number.index_select(0, column);
    const torch::Tensor of_row = value.index_select(0, row),
                        of_column = value.index_select(0, column);
    const bool tables = coupling.dim() == 3;

    const torch::Tensor kept = ((from >= 0) & (to > from)).nonzero().flatten();
    const torch::Tensor edges =
        torch::stack({from.index_select(0, kept), to.index_select(0, kept)}, 1);
    const torch::Tensor held = ((from >= 0) & (to < 0)).nonzero().flatten();
    const torch::Tensor held_at = from.index_select(0, held);
    const torch::Tensor held_value = of_column.index_select(0, held);
    torch::Tensor fields = unary.index_select(0, free);
    if (tables) {
      fields = fields.index_add(0, held_at, coupling.index({held, held_value}), -1);
    } else {
      fields.index_put_({held_at, held_value}, -coupling.index_select(0, held),
                        /*accumulate=*/true);
    }
    const torch::Tensor both = ((from < 0) & (to < 0) & (row < column)).nonzero().flatten();
    const torch::Tensor k = of_row.index_select(0, both), l = of_column.index_select(0, both);
    const torch::Tensor between = tables ? coupling.index({both, l, k})
                                         : coupling.index_select(0, both).masked_select(k == l);
    const torch::Tensor fixed = (number < 0).nonzero().flatten();
    const double constant =
        joint.constant + unary.index({fixed, value.index_select(0, fixed)}).sum().item<double>() -
        between.sum().item<double>();
    const torch::Tensor of_kept = coupling.index_select(0, kept);
    return lattice_from_edges(fields, edges, tables ? of_kept.transpose(1, 2) : of_kept, constant);
  }

 private:
  LatticeModel& lattice_of_joint() const { return *joint_->as_lattice(); }

  std::shared_ptr<EnergyModel> joint_;
  FixedSites fixed_;
};

// Returns an RBM of the free visible units: b'_h = b_h + Σ_{i fixed} W_hi v_i, and −Σ_{i fixed}
// b_i v_i is a constant. Sums are in float64.
std::shared_ptr<EnergyModel> conditional_rbm(const RbmModel& joint, const FixedSites& fixed) {
  const torch::NoGradGuard no_grad;
  const auto parameters = joint.named_parameters();
  const torch::Tensor w = parameters["W"].to(torch::kFloat64), b_v = joint.visible_biases();
  const torch::Tensor free = fixed.sites()[0];
  torch::Tensor held = torch::ones({w.size(1)}, free.options().dtype(torch::kBool));
  held.index_fill_(0, free, false);
  torch::Tensor v = joint.relaxed(fixed.values()).to(torch::kFloat64)[0];  // [D] or [D, K]
  v = v * (v.dim() == 2 ? held.unsqueeze(1) : held);
  const torch::Tensor b_h = parameters["b_h"].to(torch::kFloat64) + w.flatten(1).mv(v.flatten());
  const double constant = -(b_v.to(torch::kFloat64) * v).sum().item<double>();
  auto rbm = std::make_shared<RbmModel>(w.index_select(1, free), b_v.index_select(0, free), b_h);
  return std::make_shared<ShiftedModel>(std::move(rbm), constant);
}

}  // namespace

std::shared_ptr<EnergyModel> conditional_model(std::shared_ptr<EnergyModel> joint,
                                               const FixedSites& fixed, bool lasting) {
  if (fixed.fixes_nothing()) return joint;
  if (fixed.rows() == 1) {
    if (joint->as_lattice()) return std::make_shared<ConditionalLattice>(std::move(joint), fixed);
    const auto* rbm = dynamic_cast<const RbmModel*>(joint.get());
    if (rbm && !lasting) return conditional_rbm(*rbm, fixed);
  }
  return std::make_shared<ConditionalModel>(std::move(joint), fixed);
}

}  // namespace isinglass
