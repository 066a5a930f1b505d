// Creates step parameters and chain statistics, and resets the statistics.
#include "engine/chain_state.h"

namespace isinglass {

StepParams StepParams::create(uint64_t seed, const std::vector<double>& scale, torch::Device device,
                              int64_t step) {
  return {torch::tensor({static_cast<int64_t>(seed), step}, torch::kInt64).to(device),
          torch::tensor(scale, torch::kFloat64).to(device)};
}

void StepParams::advance(int64_t steps) {
  ops::advance(rng, steps);
}

int64_t StepParams::step() const {
  return rng[1].item<int64_t>();
}

Statistics Statistics::create(int64_t chains, torch::Device device) {
  const auto real = torch::TensorOptions(torch::kFloat64).device(device);
  const auto whole = torch::TensorOptions(torch::kInt64).device(device);
  return {
      {torch::zeros({chains}, real), torch::zeros({chains}, whole), torch::zeros({chains}, real),
       torch::zeros({chains}, whole), torch::zeros({chains}, whole)},
      {}};
}

void Statistics::reset() {
  for (torch::Tensor* sum : {&acceptance_sum, &hops_sum, &non_finite}) sum->zero_();
  if (!base_moves) return;
  for (torch::Tensor* sum :
       {&base_moves->acceptance_sum, &base_moves->hops_sum, &base_moves->non_finite}) {
    sum->zero_();
  }
}

void Statistics::clear() {
  reset();
  for (torch::Tensor* last : {&acceptance, &hops}) last->zero_();
}

Evaluation empty_like(const Evaluation& e) {
  Evaluation out;
  out.energy = torch::empty_like(e.energy);
  if (e.gradient.defined()) out.gradient = torch::empty_like(e.gradient);
  if (e.differences.defined()) out.differences = torch::empty_like(e.differences);
  for (const torch::Tensor& t : e.cache) out.cache.push_back(torch::empty_like(t));
  return out;
}

void accept_proposal(ChainState& state, const Workspace& proposal, const torch::Tensor& rng,
                     ops::StepBuffers& counts, bool unadjusted, int64_t group) {
  const Evaluation &current = state.current, &proposed = proposal.proposed;
  c10::SmallVector<torch::Tensor, 8> to{state.x, current.energy}, from{proposal.y, proposed.energy};
  if (current.gradient.defined()) {
    to.push_back(current.gradient);
    from.push_back(proposed.gradient);
  }
  if (current.differences.defined()) {
    to.push_back(current.differences);
    from.push_back(proposed.differences);
  }
  to.append(current.cache.begin(), current.cache.end());
  from.append(proposed.cache.begin(), proposed.cache.end());
  if (proposal.cache.defined()) {
    to.push_back(proposal.cache);
    from.push_back(proposal.proposed_cache);
  }
  ops::accept(current.energy, proposed.energy, proposal.log_forward, proposal.log_backward, rng,
              state.chain_ids, to, from, counts, unadjusted, group);
}

}  // namespace isinglass
