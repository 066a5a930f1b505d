// Implements the linear and the joint path for ladders.
#include "engine/tempering/ladder_path.h"

#include "engine/annealing/tempered_model.h"
#include "models/network/annealed_rbm.h"

namespace isinglass {
namespace {

using torch::Tensor;

// Gives every chain the value of its rung: of_rungs has one value per rung, of_chains one per
// chain.
void spread(const Tensor& of_rungs, const ops::RungChainTensors& at, Tensor& of_chains) {
  of_chains.index_copy_(0, at.chain.view(-1), of_rungs.repeat({at.chain.size(0)}));
}

// The linear path: the parts U_0 and U of a chain's energy determine it at any β.
class LinearLadder : public LadderPath {
 public:
  LinearLadder(EnergyModel& target, const Factorised& start, torch::Device device, int64_t chains)
      : start_(start),
        model_(target, &start, device, TemperedModel::Form::kParts, chains),
        reference_(target, &start, device) {}

  EnergyModel& model() override { return model_; }
  EnergyModel& reference() override { return reference_; }
  double log_z_start() const override { return start_.log_z(); }

  void prepare(ops::RungChainTensors& at) override { at.beta = model_.beta(); }
  void place(const ops::RungTensors& rungs, const ops::RungChainTensors& at,
             ChainState& chains) override {
    Tensor beta = torch::empty_like(model_.beta());
    spread(rungs.beta, at, beta);
    model_.set_beta(beta);
    model_.recombine(chains.current);
  }
  bool measures_all() const override { return true; }
  void before_swaps(const ops::RungTensors&, const ops::SwapSums&, const Tensor&,
                    ops::RungChainTensors& at, const ChainState& chains) override {
    at.start = model_.start_energy(chains.current);
    at.target = model_.target_energy(chains.current);
  }
  void after_swaps(ChainState& chains) override { model_.recombine_table(chains.current); }

 private:
  const Factorised& start_;
  TemperedModel model_, reference_;
};

// The joint path: computes free energies at a chain's rung and at the adjacent rungs from the
// hidden inputs, which are kept.
class JointLadder : public LadderPath {
 public:
  JointLadder(RbmModel& rbm, const Factorised& start, torch::Device device, int64_t chains)
      : model_(rbm, start.logits(), device, chains), reference_(rbm, start.logits(), device) {
    model_.leave_energies();
  }

  EnergyModel& model() override { return model_; }
  EnergyModel& reference() override { return reference_; }
  double log_z_start() const override { return model_.log_z_start(); }

  void prepare(ops::RungChainTensors& at) override {
    at.beta = model_.beta();
    for (Tensor* t : {&at.below, &at.above}) *t = torch::zeros_like(at.beta);
  }
  void place(const ops::RungTensors& rungs, const ops::RungChainTensors& at,
             ChainState& chains) override {
    Tensor beta = torch::empty_like(model_.beta());
    spread(rungs.beta, at, beta);
    model_.set_beta(beta);
    model_.recombine(chains.x, chains.current);
  }
  bool measures_all() const override { return false; }
  void before_swaps(const ops::RungTensors& rungs, const ops::SwapSums& sums, const Tensor& rng,
                    ops::RungChainTensors& at, const ChainState& chains) override {
    model_.energies_at_adjacent_rungs(rungs.beta, sums.measured(), rng, chains.x, chains.current,
                                      at);
  }
  void after_swaps(ChainState&) override {}

 private:
  AnnealedRbm model_, reference_;
};

}  // namespace

std::unique_ptr<LadderPath> make_ladder_path(PathKind kind, EnergyModel& target,
                                             const Factorised& start, torch::Device device,
                                             int64_t chains) {
  if (kind == PathKind::kLinear) {
    return std::make_unique<LinearLadder>(target, start, device, chains);
  }
  return std::make_unique<JointLadder>(rbm_of_joint_path(target), start, device, chains);
}

}  // namespace isinglass
