// Implements block Gibbs and Hamming-ball sampling, and their limits on the size of a block.
#include "engine/samplers/block_gibbs.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/registry.h"
#include "engine/samplers/gibbs.h"
#include "io/error.h"
#include "kernels/ops/gibbs.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {
namespace {

constexpr double kMostJointValues = 1024;  // limit of block-gibbs
constexpr double kMostBallStates = 4096;   // limit of hamming-ball
constexpr double kDefaultBallSites = 10;
// The number of states per model call; with more chains than that, a call has one state per chain.
constexpr int64_t kBatch = 4096;

struct BlockScratch : SamplerScratch {
  ops::BlockTensors blocks;
  torch::Tensor table;   // float64 [B, N]: energies of the candidates
  torch::Tensor choice;  // int64 [B]: the number of the chosen candidate, minus 1
  torch::Tensor states;  // uint8 [≤ B·(N − 1), D], for models without a lattice
  // The evaluations of `states`. The last batch of a step may be smaller, and has its own.
  Evaluation batch, last;
  std::vector<torch::Tensor> candidates;  // the model's cache, [B·(N − 1), …]
};

// Lists all changes of at most `radius` of the block's sites, ordered by the number of sites
// changed. A site's change is encoded as 256·place + digit.
std::vector<std::vector<int32_t>> enumerate_changes(const BlockBall& ball, int64_t categories) {
  std::vector<std::vector<int32_t>> all = {{}};
  for (size_t n = 0; n < all.size(); ++n) {
    const std::vector<int32_t> change = all[n];
    if (static_cast<int64_t>(change.size()) == ball.radius) continue;
    for (int64_t place = change.empty() ? 0 : change.back() / 256 + 1; place < ball.sites;
         ++place) {
      for (int64_t digit = 1; digit < categories; ++digit) {
        all.push_back(change);
        all.back().push_back(static_cast<int32_t>(256 * place + digit));
      }
    }
  }
  return all;
}

std::vector<int32_t> inverse_of(std::vector<int32_t> change, int64_t categories) {
  for (int32_t& entry : change) {
    entry += static_cast<int32_t>(categories) - 2 * (entry % 256);  // digit → K − digit
  }
  return change;
}

ops::BlockTensors make_blocks(const BlockBall& ball, int64_t categories, const torch::Tensor& x) {
  const auto changes = enumerate_changes(ball, categories);
  const auto count = static_cast<int64_t>(changes.size());
  std::map<std::vector<int32_t>, int32_t> number;
  for (int64_t n = 0; n < count; ++n) number[changes[n]] = static_cast<int32_t>(n);
  const auto whole = torch::TensorOptions(torch::kInt32);
  torch::Tensor entry = torch::zeros({count, ball.radius}, whole);
  torch::Tensor inverse = torch::zeros({count}, whole);
  for (int64_t n = 0; n < count; ++n) {
    std::copy(changes[n].begin(), changes[n].end(), entry.data_ptr<int32_t>() + n * ball.radius);
    inverse.data_ptr<int32_t>()[n] = number.at(inverse_of(changes[n], categories));
  }
  const auto on = whole.device(x.device());
  return {entry.to(x.device()), inverse.to(x.device()), torch::zeros({x.size(0), ball.sites}, on),
          torch::zeros({x.size(0)}, on), categories};
}

// Copies the batch's cache into rows first … first + count − 1 of every chain.
void keep_cache(const Evaluation& batch, int64_t chains, int64_t all, int64_t first, int64_t count,
                std::vector<torch::Tensor>& candidates) {
  candidates.resize(batch.cache.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::vector<int64_t> shape = batch.cache[i].sizes().vec();
    shape[0] = chains * all;
    if (!candidates[i].defined()) candidates[i] = torch::empty(shape, batch.cache[i].options());
    shape.insert(shape.begin(), chains);
    shape[1] = all;
    torch::Tensor rows = candidates[i].view(shape).narrow(1, first, count);
    rows.copy_(batch.cache[i].view(rows.sizes()));
  }
}

// Makes the buffers that both samplers need.
void make_scratch(const BlockBall& ball, int64_t categories, ChainState& state) {
  auto scratch = std::make_shared<BlockScratch>();
  scratch->blocks = make_blocks(ball, categories, state.x);
  const auto on = state.current.energy.options();
  scratch->table = torch::zeros({state.chains(), scratch->blocks.entry.size(0)}, on);
  scratch->choice = torch::zeros({state.chains()}, on.dtype(torch::kInt64));
  state.workspace.proposed = {};
  state.workspace.scratch = scratch;
}

}  // namespace

void BlockSampler::prepare(const EnergyModel& model, ChainState& state) const {
  make_scratch(ball_, model.space().categories, state);
  auto& scratch = scratch_of<BlockScratch>(state.workspace);
  const int64_t chains = state.chains(), others = scratch.table.size(1) - 1;
  const int64_t each = std::clamp<int64_t>(kBatch / std::max<int64_t>(chains, 1), 1, others);
  scratch.states = torch::empty({chains * each, state.sites()}, state.x.options());
}

int64_t BlockSampler::evaluate_candidates(EnergyModel& model, ChainState& state) const {
  auto& scratch = scratch_of<BlockScratch>(state.workspace);
  const int64_t chains = state.chains(), others = scratch.table.size(1) - 1;
  const int64_t each = scratch.states.size(0) / std::max<int64_t>(chains, 1);
  scratch.table.select(1, 0).copy_(state.current.energy);
  for (int64_t first = 0; first < others && each > 0; first += each) {
    const int64_t count = std::min(each, others - first);
    Evaluation& out = count == each ? scratch.batch : scratch.last;
    torch::Tensor states = scratch.states.narrow(0, 0, chains * count);
    ops::block_states(scratch.blocks, state.workspace.y, first + 1, count, states);
    model.evaluate_energy(states, out);
    scratch.table.narrow(1, first + 1, count).copy_(out.energy.view({chains, count}));
    keep_cache(out, chains, others, first, count, scratch.candidates);
  }
  return others;
}

void LatticeBlockSampler::prepare(const EnergyModel& model, ChainState& state) const {
  require_made_for(model.as_lattice() != nullptr, model);
  make_scratch(ball_, model.space().categories, state);
}

int64_t LatticeBlockSampler::evaluate_candidates(EnergyModel& model, ChainState& state) const {
  auto& scratch = scratch_of<BlockScratch>(state.workspace);
  ops::lattice_block_energies(model.as_lattice()->lattice(state.x.device()), scratch.blocks,
                              state.workspace.y, state.current.energy, scratch.table);
  return 1;
}

StepInfo BlockSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  auto& scratch = scratch_of<BlockScratch>(state.workspace);
  torch::Tensor& u = state.workspace.y;
  ops::choose_blocks(scratch.blocks, ball_.uniform_centre, params.rng, state.chain_ids, state.x, u);
  const int64_t calls = evaluate_candidates(model, state);
  ops::draw_blocks(scratch.blocks, scratch.table, params.rng, state.chain_ids, state.x, u,
                   state.current.energy, scratch.choice, state.statistics);
  take_cache(scratch.choice, scratch.candidates, state.current.cache);
  params.advance();
  return {.evaluations = calls};
}

double ball_states(int64_t sites, int64_t radius, int64_t categories) {
  double total = 1, term = 1;
  for (int64_t j = 1; j <= radius; ++j) {
    // This order of operations keeps every quotient a whole number.
    term = term * static_cast<double>((sites - j + 1) * (categories - 1)) / static_cast<double>(j);
    total += term;
  }
  return total;
}

namespace {

int64_t most_joint_sites(const EnergyModel& model) {
  const auto categories = static_cast<double>(model.space().categories);
  return static_cast<int64_t>(std::log2(kMostJointValues) / std::log2(categories));
}

double largest_joint_block(const SamplerOptions&, const EnergyModel& model) {
  return static_cast<double>(std::min(most_joint_sites(model), model.space().sites));
}

void check_block(const char* sampler, int64_t block, const EnergyModel& model) {
  require_option(block <= model.space().sites, "block", block,
                 "{} draws that many distinct sites, but the model has {}", sampler,
                 model.space().sites);
}

void check_joint_values(const SamplerOptions& options, const EnergyModel& model) {
  const auto block = static_cast<int64_t>(*options.block);
  check_block("block-gibbs", block, model);
  require_option(block <= most_joint_sites(model), "block", block,
                 "block-gibbs draws from all K^m joint values, of which it allows {:g}; with {:g} "
                 "values per site `block` must be at most {}",
                 kMostJointValues, static_cast<double>(model.space().categories),
                 most_joint_sites(model));
}

// Returns the largest block whose ball of that radius is within the limit, or 0 if no block's is.
int64_t largest_block(int64_t radius, int64_t categories) {
  int64_t sites = radius;
  while (ball_states(sites, radius, categories) <= kMostBallStates) ++sites;
  return sites > radius ? sites - 1 : 0;
}

// Returns at least the radius. If no block fits, check_ball() then refuses the radius.
double largest_ball_block(const SamplerOptions& options, const EnergyModel& model) {
  const auto radius = static_cast<int64_t>(*options.radius);
  const int64_t sites = model.space().sites;
  const int64_t most = largest_block(std::min(radius, sites), model.space().categories);
  return static_cast<double>(std::min(std::max(most, radius), sites));
}

void check_ball(const SamplerOptions& options, const EnergyModel& model) {
  const auto block = static_cast<int64_t>(*options.block);
  const int64_t categories = model.space().categories;
  const auto radius = static_cast<int64_t>(*options.radius);
  check_block("hamming-ball", block, model);
  require_option(radius <= block, "radius", radius,
                 "hamming-ball changes at most the {} sites of its block", block);
  if (ball_states(block, radius, categories) <= kMostBallStates) return;
  int64_t fits = radius;
  while (largest_block(fits, categories) == 0) --fits;
  fail_options(
      "`block` {} with `radius` {} gives a Hamming ball of {:g} states with {} values per site, "
      "but hamming-ball allows at most {:g}; with `radius` {} `block` must be at most {}",
      block, radius, ball_states(block, radius, categories), categories, kMostBallStates, fits,
      largest_block(fits, categories));
}

BlockBall joint_ball(const SamplerOptions& options) {
  const auto block = static_cast<int64_t>(*options.block);
  return {block, block, false};
}

BlockBall hamming_ball(const SamplerOptions& options) {
  return {static_cast<int64_t>(*options.block), static_cast<int64_t>(*options.radius), true};
}

template <BlockBall (*ball)(const SamplerOptions&)>
std::unique_ptr<Sampler> make_block(const SamplerOptions& options, const EnergyModel&) {
  return std::make_unique<BlockSampler>(ball(options));
}

template <BlockBall (*ball)(const SamplerOptions&)>
std::unique_ptr<Sampler> make_block_on_lattice(const SamplerOptions& options,
                                               const EnergyModel& model) {
  if (!model.as_lattice()) return nullptr;
  return std::make_unique<LatticeBlockSampler>(ball(options));
}

SamplerOptionUse block_option(double initial,
                              double (*largest)(const SamplerOptions&, const EnergyModel&)) {
  return {.name = "block",
          .initial = initial,
          .least = 1,
          .most = 65536,
          .whole = true,
          .largest = largest};
}

}  // namespace

std::vector<SamplerEntry> block_samplers() {
  const std::vector<StateKind> kinds = {StateKind::kBinary, StateKind::kCategorical,
                                        StateKind::kOrdered};
  std::vector<SamplerOptionUse> ball = radius_option(1, /*whole=*/true);
  ball.push_back(block_option(kDefaultBallSites, largest_ball_block));
  return {{.name = "block-gibbs",
           .summary = "a random block of m sites from its exact joint conditional",
           .paper = "Jensen et al. 1995",
           .needs = "a lattice, or K^m - 1 model calls",
           .kinds = kinds,
           .options = {block_option(2, largest_joint_block)},
           .gradient = false,
           .make = make_block<joint_ball>,
           .make_on_lattice = make_block_on_lattice<joint_ball>,
           .check = check_joint_values},
          {.name = "hamming-ball",
           .summary = "a random block of m sites within Hamming distance r of a random centre",
           .paper = "Titsias & Yau 2017",
           .needs = "a lattice, or a model call for every state of the ball but one",
           .kinds = kinds,
           .options = ball,
           .gradient = false,
           .make = make_block<hamming_ball>,
           .make_on_lattice = make_block_on_lattice<hamming_ball>,
           .check = check_ball}};
}

}  // namespace isinglass
