// Implements the assembly of a sampling run, its start states and its summary.
#include "lab/run/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/annealing/at_temperature.h"
#include "engine/observers/completed_states.h"
#include "engine/registry.h"
#include "engine/run/clock.h"
#include "engine/run/initial_states.h"
#include "io/error.h"
#include "io/files.h"
#include "io/sha256.h"
#include "kernels/random/philox.h"
#include "lab/run/memory.h"
#include "lab/run/restricted.h"
#include "lab/run/summary.h"
#include "lab/run/time_budget.h"
#include "lab/run/trained_model.h"
#include "lab/spec/field.h"
#include "models/combined/wrong_gradient.h"
#include "models/identity.h"
#include "models/lattice/lattice_model.h"
#include "models/lattice/quadratic.h"
#include "models/states.h"
#include "train/data/formats/format.h"

namespace isinglass {

using Json = nlohmann::ordered_json;

namespace {

// One chain's statistic takes this many bytes per draw, diagnostics included.
constexpr double kBytesADraw = 128;
// The recorder's energies are re-evaluated after this many steps. A re-evaluation costs at most
// about as much as D single-site steps.
constexpr int64_t kLeastRenewal = 4096, kRenewalASite = 16;

// Annealed chains are resampled, or exchange clusters, within groups of so many. They exchange
// clusters on a lattice of at most so many neighbours a site.
constexpr int64_t kGroup = 10, kClusterNeighbours = 4;
// If `time` chooses the number of chains, they are so many populations, which tell how often the
// best state is found. The choice takes about this share of the time.
constexpr int64_t kPopulations = 3, kMostChains = 30000;
constexpr double kShareOfChains = 0.2;

bool exchanges_clusters(LatticeModel& lattice, int64_t chains) {
  const int64_t sites = lattice.space().sites,
                entries = lattice.lattice(lattice.device()).neighbour.numel();
  return chains % kGroup == 0 && entries > 0 && entries <= kClusterNeighbours * sites;
}

// Returns true if an annealing run tests the flips of a lattice's sites rather than draws the
// sites. Tests need fewer sweeps to as good a state (docs/guide/combinatorial-problems.md), but
// draws that tables of neighbourhoods look up are faster by more than that.
bool tests_flips(LatticeModel& lattice) {
  lattice.lattice(lattice.device());
  return lattice.space().kind == StateKind::kBinary && !lattice.neighbourhoods();
}

// Returns states where the instance's paper starts the chains.
torch::Tensor instance_states(const EnergyModel& model, torch::Tensor noise) {
  const auto* wrong = dynamic_cast<const WrongGradientModel*>(&model);
  require_options(
      wrong,
      "`init` instance needs an `instance` that says where chains start, but {} does not say so",
      model.kind_name());
  const Start& start = wrong->start();
  return noise.mul_(start.deviation).add_(start.mean.to(noise.options()));
}

// Returns whether `init` is a kind of start and not a file.
bool fresh(const std::string& init) {
  return init == "random" || init == "data" || init == "instance";
}

void check_memory(const SampleSpec& spec, int64_t chains, const EnergyModel& model,
                  const RunPlan& plan, torch::Device device) {
  if (!tempered(spec)) {
    require_memory(sampling_bytes(model, chains), device, fmt::format("`chains` {}", chains));
  }
  const SamplerEntry& sampler = find_sampler(spec.sampler.name);
  const double sites = static_cast<double>(model.space().sites);
  require_memory(8 * sites * sites * static_cast<double>(sampler.site_matrices), device,
                 fmt::format("{} on {} sites", sampler.name, model.space().sites));
  const int64_t draws = plan.steps / plan.thin;
  require_memory(static_cast<double>(draws) * static_cast<double>(chains) * kBytesADraw,
                 torch::kCPU, fmt::format("`chains` {} for {} draws", chains, draws));
}

void restore_learned(const SampleSpec& spec, const Sampler& sampler, ChainState& state) {
  const auto file = spec.warm_start.parent_path() / "learned.pt";
  if (!std::filesystem::exists(file)) return;
  require(sampler.warmup(), "{} learns nothing, but {} holds learned tensors", sampler.name(),
          file.string());
  sampler.warmup()->restore(state, read_named_tensors(file));
}

// Throws Error unless the run can be annealed.
void check_annealing(const SampleSpec& spec, const EnergyModel& model, const RunPlan& plan) {
  const StateKind kind = model.space().kind;
  require_options(kind == StateKind::kBinary || kind == StateKind::kCategorical,
                  "`anneal` cools binary and categorical sites; the states of model {} are {}",
                  model.kind_name(), kinds_text({kind}));
  require_options(spec.time || plan.burn_in >= 2,
                  "`anneal` cools during burn-in, but `burn-in` is {}; at least 2 is needed, or a "
                  "`time` in seconds",
                  plan.burn_in);
}

// The pilot of `anneal` auto has about this many chains.
constexpr int64_t kPilotChains = 16;
// The steps that are measured for `time` take place at this many temperatures; few, because a
// change of temperature takes time.
constexpr int64_t kMeasuredLevels = 4;

}  // namespace

RunPlan plan_of(const SampleSpec& spec) {
  require_options(!spec.time || spec.anneal,
                  "`time` is the time of an annealing run, but `anneal` is not given");
  require_options(!spec.time || spec.burn_in == 0,
                  "`time` and `burn-in` exclude each other, because `time` chooses the number of "
                  "burn-in steps");
  const bool few = spec.anneal && (spec.time || spec.sampler.name.empty());
  const RunPlan plan{spec.burn_in, spec.steps.value_or(few ? kDefaultAnnealedSteps : kDefaultSteps),
                     spec.thin};
  require_options(plan.steps == 0 || plan.thin <= plan.steps,
                  "`thin` is {}, but it must be at most `steps`, which is {}", plan.thin,
                  plan.steps);
  require_options(
      static_cast<double>(plan.burn_in) + static_cast<double>(plan.steps) <= kLargestStep,
      "`burn-in` and `steps` add up to {:.0f}, but their sum must be at most {:.0f}",
      static_cast<double>(plan.burn_in) + static_cast<double>(plan.steps), kLargestStep);
  return plan;
}

Sampling::Sampling(SampleSpec spec, Context context, Given given)
    : spec_(std::move(spec)),
      plan_(plan_of(spec_)),
      context_(std::move(context)),
      images_(std::move(given.data)) {
  const torch::Device device = context_.device;
  const double begin = synchronised_seconds(device);
  spec_.data = resolved(spec_.data);
  spec_.model = resolved(as_trained(spec_.model));
  whole_ = model_ = given.model ? given.model : make_model();
  spec_.steps = plan_.steps;
  const bool narrowed = given.allowed.defined() || given.reference.defined() ||
                        !spec_.restriction.allowed.empty() || !spec_.restriction.reference.empty();
  choose_sampler(/*restricted=*/narrowed || given.fixed.defined() || !spec_.inpaint.empty() ||
                     !spec_.restriction.fixed.empty(),
                 narrowed);
  if (spec_.model.name.empty()) spec_.model.name = model_->kind_name();
  set_gradient_precision(spec_.model, *model_, device);
  seek_solutions();
  const bool warm = !spec_.warm_start.empty();
  if (warm) read_warm_start();
  torch::Tensor x;
  if (given.states.defined() || !fresh(spec_.init)) x = saved_states(given.states);
  restrict_states(given);
  if (!restriction_) choose_population();
  if (spec_.anneal && !tempered(spec_)) prepare_annealing(x, begin);
  plan_.hook = cooling_.get();
  make_sampler();
  own_ = own_chains_of(*spec_.chains);
  check_memory(spec_, own_.count, *model_, plan_, device);
  state_ = sampler_->init(target(), start_states(x), chain_ids());
  params_ = sampler_->params(static_cast<uint64_t>(spec_.seed), device);
  if (warm) restore_learned(spec_, *sampler_, state_);
  statistic_ = make_statistic(spec_.statistic, whole_->space(), device);
}

// Returns the known pixels of the images that are inpainted, and their name.
torch::Tensor Sampling::known_pixels(std::string& source) {
  require_options(images_ || !spec_.data.name.empty(), "`inpaint` needs `dataset`");
  spec_.inpaint = absolute_mask(spec_.inpaint);
  const Dataset data = images_ ? *images_ : images_of(spec_.data);
  note_data(data);
  inpainting_ =
      inpainting_of(data, whole_->space(), spec_.inpaint, spec_.inpaint_images, spec_.seed);
  spec_.inpaint_images = inpainting_->images.size(0);
  source = data.name;
  return inpainting_->fixed_values();
}

// Replaces the model by that of the restricted states.
void Sampling::restrict_states(const Given& given) {
  RestrictionOptions options = restriction_options(spec_.restriction, given);
  if (!spec_.inpaint.empty()) {
    require_options(!options.fixed.defined(), "`inpaint` and `fixed` exclude each other");
    options.fixed = known_pixels(options.fixed_name);
  }
  if (!options.given()) return;
  const Restriction all(whole_->space(), options, context_.device);
  if (!spec_.chains) {
    // The smallest multiple of the rows that is no less than the default.
    spec_.chains = (kDefaultChains + all.rows() - 1) / all.rows() * all.rows();
  }
  require_options(
      *spec_.chains % all.rows() == 0,
      "`chains` is {}, but there are {} rows of {}; a multiple of that number is needed",
      *spec_.chains, all.rows(),
      options.fixed.defined() ? options.fixed_name : options.reference_name);
  alike_ = *spec_.chains / all.rows();
  choose_population();
  restriction_sha256_ = all.sha256();
  const Shard own = own_chains_of(*spec_.chains);
  restriction_ = all.of_chains(*spec_.chains, own.first, own.count);
  model_ = restricted(model_, *restriction_, context_.device);
}

// Fixes the number of chains, and how many of an annealing run are resampled together. Chains of
// such a group share a target.
void Sampling::choose_population() {
  const bool exchanges = find_sampler(spec_.sampler.name).exchanges;
  // Chains that search for states without violations need the time for many steps.
  const auto* problem = dynamic_cast<const GraphProblem*>(&at_temperature_one(*whole_));
  open_chains_ = !spec_.chains && spec_.time && !exchanges && spec_.population != 1 &&
                 !(problem && problem->penalty() > 0);
  open_population_ = open_chains_ && !spec_.population;
  if (!spec_.chains) {
    // A population that is given is whole.
    const int64_t whole = open_chains_ ? spec_.population.value_or(1) : 1;
    spec_.chains = (kDefaultChains + whole - 1) / whole * whole;
  }
  if (alike_ == 0) alike_ = *spec_.chains;
  require_options(!spec_.population || spec_.anneal,
                  "`population` resamples annealed chains, but `anneal` is not given");
  if (!spec_.anneal) return;
  if (!spec_.population) {
    spec_.population = exchanges || alike_ % kGroup != 0 ? 1 : kGroup;
  }
  require_options(*spec_.population == 1 || !exchanges,
                  "`sampler` {} exchanges states between chains, which copies of one chain cannot; "
                  "`population` must be 1",
                  spec_.sampler.name);
  require_options(alike_ % *spec_.population == 0,
                  "`population` is {}, which does not divide the number of chains{}, {}",
                  *spec_.population, alike_ == *spec_.chains ? "" : " that share a target", alike_);
}

// Returns this rank's share of the chains. Those of a group stay together.
Shard Sampling::own_chains_of(int64_t chains) const {
  return ranks().shard(chains, group_size());
}

// Returns the number of consecutive chains that depend on each other.
int64_t Sampling::group_size() const {
  const SamplerSpec sampler = resolved(spec_.sampler, *model_, !spec_.warm_start.empty());
  return std::max(static_cast<int64_t>(sampler_number(sampler, "group").value_or(1)),
                  spec_.population.value_or(1));
}

torch::Tensor Sampling::chain_ids() const {
  return torch::arange(own_.first, own_.first + own_.count,
                       torch::TensorOptions(torch::kInt64).device(context_.device));
}

void Sampling::make_sampler() {
  require_options(spec_.anneal || !find_sampler(spec_.sampler.name).exchanges,
                  "`sampler` {} exchanges states between chains, so that their R-hat and effective "
                  "sample sizes would be wrong; it needs `anneal`, and gibbs with `scan` chromatic "
                  "makes the same sweeps without it",
                  spec_.sampler.name);
  const torch::Device device = context_.device;
  const bool warm = !spec_.warm_start.empty();
  if (tempered(spec_)) {
    auto tempering = tempering_of(spec_, *model_, plan_, context_, warm,
                                  restriction_ ? restriction_->distance_limit() : std::nullopt);
    tempering_ = tempering.get();
    sampler_ = std::move(tempering);
    spec_.exploration = spec_.exploration.value_or(1);
    spec_.lowest_beta = spec_.lowest_beta.value_or(0);
    if (!model_->space().discrete() && !bounds_of(*model_)) {
      spec_.start_scale = spec_.start_scale.value_or(1);
    }
  } else {
    require_options(!spec_.exploration,
                    "`exploration` applies to tempering only, and needs `rungs`");
    require_options(!spec_.lowest_beta,
                    "`lowest-beta` applies to tempering only, and needs `rungs`");
    require_options(!spec_.start_scale,
                    "`start-scale` applies to tempering only, and needs `rungs`");
    sampler_ = sampler_of(spec_.sampler, target(), warm);
  }
  spec_.sampler = resolved(spec_.sampler, target(), warm);
  plan_.cuda_graph = captures_steps(spec_.cuda_graph, target(), *sampler_, device);
}

std::shared_ptr<EnergyModel> Sampling::make_model() {
  return sampled_model(spec_.model, spec_.sampler, spec_.data, context_.device,
                       [&](const Dataset& data) { note_data(data); });
}

void Sampling::note_data(const Dataset& data) {
  data_ = DataIdentity{data.name, data_sha256(data)};
}

void Sampling::seek_solutions() {
  EnergyModel& model = at_temperature_one(*whole_);
  const bool sought = spec_.anneal || dynamic_cast<const GraphProblem*>(&model);
  require_options(!spec_.optimum || sought,
                  "`optimum` is given, but model {} is not an optimisation problem; maxcut, "
                  "maxclique, mis or qubo is needed, or `anneal`",
                  model_->kind_name());
  if (sought) best_ = std::make_unique<BestSolution>(model, ranks());
}

// Names the sampler of a run that names none. An annealing run on a lattice takes the one that
// makes most changes a second, with exchanges of clusters where these do not cover nearly all sites
// (docs/guide/combinatorial-problems.md). Models of allowed values (`narrowed`) have no chromatic
// sweeps, and adapted settings of an earlier run are those of a sampler that has some.
void Sampling::choose_sampler(bool restricted, bool narrowed) {
  if (!spec_.sampler.name.empty()) return;
  LatticeModel* lattice = spec_.anneal && !restricted ? model_->as_lattice() : nullptr;
  if (lattice && exchanges_clusters(*lattice, spec_.chains.value_or(kDefaultChains))) {
    spec_.sampler.name = "cluster-gibbs";
    spec_.sampler.options.try_emplace("group", static_cast<double>(kGroup));
  } else if (lattice && tests_flips(*lattice)) {
    spec_.sampler.name = "metropolis";
  } else {
    const bool sweeps = model_->sweeps() && !narrowed && spec_.warm_start.empty();
    name_sampler(spec_.sampler, *model_, lattice || (sweeps && !spec_.anneal));
  }
}

// Chooses the temperatures and the length of burn-in if they are left open. `begin` is the time at
// which the run began [s].
void Sampling::prepare_annealing(const torch::Tensor& given, double begin) {
  check_annealing(spec_, *model_, plan_);
  own_ = own_chains_of(*spec_.chains);
  check_memory(spec_, own_.count, *model_, plan_, context_.device);
  if (!spec_.anneal->range) spec_.anneal->range = chosen_range(given);
  if (open_chains_) choose_chains(begin);
  if (spec_.time) {
    spec_.burn_in = plan_.burn_in = chosen_burn_in(given, begin);
    spec_.time.reset();
  }
  const Temperatures range = *spec_.anneal->range;
  cooling_ =
      std::make_unique<Cooling>(*model_, range, plan_.burn_in, context_.device, *spec_.population);
  // Restricted models know their chains by rows, so that all are looked at.
  range_ = std::make_unique<RangeWatch>(*model_, range, plan_.burn_in,
                                        restriction_ ? *spec_.chains : kPilotChains,
                                        static_cast<uint64_t>(spec_.seed), ranks());
}

// The pilot's chains start at random states, the same on all ranks. Restricted chains, whose
// targets differ, are those of rank 0.
Temperatures Sampling::chosen_range(const torch::Tensor& given) {
  const torch::Device device = context_.device;
  const bool warm = !spec_.warm_start.empty();
  const auto seed = static_cast<uint64_t>(spec_.seed);
  PilotChains chains{.seed = seed, .sampler = [&](const EnergyModel& model) {
                       return sampler_of(spec_.sampler, model, warm);
                     }};
  if (restriction_) {
    chains.states = start_states(given);
    chains.ids = chain_ids();
  } else {
    const auto group = static_cast<int64_t>(
        sampler_number(resolved(spec_.sampler, *model_, warm), "group").value_or(1));
    const int64_t count = (kPilotChains + group - 1) / group * group;
    chains.ids = torch::arange(count, torch::TensorOptions(torch::kInt64).device(device));
    chains.states = random_states(model_->space(), chains.ids, seed, device);
  }
  const Temperatures own = temperature_range(*model_, chains, device);
  const torch::Tensor all =
      ranks().gather(torch::tensor({{own.first, own.last}}, torch::kFloat64)).cpu();
  return {all[0][0].item<double>(), all[0][1].item<double>()};
}

// Chooses the number of chains, and of those that are resampled together, from the number of steps
// that the present ones can make in the time. Each rank has a population at least.
void Sampling::choose_chains(double begin) {
  const int64_t steps = chosen_burn_in({}, begin, kShareOfChains) + plan_.steps;
  const double chain_steps =
      static_cast<double>(steps) * static_cast<double>(*spec_.chains) / kShareOfChains;
  const int64_t size = ranks().size(), count = (kPopulations + size - 1) / size * size;
  int64_t chains = std::min(count * population_within(chain_steps, count), kMostChains);
  const int64_t multiple = open_population_ ? count : *spec_.population;
  chains -= chains % multiple;
  if (chains <= *spec_.chains) return;
  if (open_population_) spec_.population = chains / count;
  spec_.chains = alike_ = chains;
  own_ = own_chains_of(chains);
  check_memory(spec_, own_.count, *model_, plan_, context_.device);
}

// Measures short annealing runs of the same chains. Ranks agree on the time, and so on the number.
// The steps fill a share of the time that is left.
int64_t Sampling::chosen_burn_in(const torch::Tensor& given, double begin, double share) {
  const torch::Device device = context_.device;
  const bool warm = !spec_.warm_start.empty();
  const auto clock = [&] {
    const double passed = synchronised_seconds(device) - begin;
    return ranks().gather(torch::tensor({passed}, torch::kFloat64)).max().item<double>();
  };
  const torch::Tensor x = start_states(given);
  const auto make_steps = [&](int64_t steps) {
    Cooling cooling(*model_, *spec_.anneal->range, steps, device, *spec_.population,
                    kMeasuredLevels);
    const auto sampler = sampler_of(spec_.sampler, cooling.model(), warm);
    ChainState state = sampler->init(cooling.model(), x.clone(), chain_ids());
    StepParams params = sampler->params(static_cast<uint64_t>(spec_.seed), device);
    BestSolution best(at_temperature_one(*whole_), ranks());
    Observer* observer = &best;
    std::optional<CompletedStates> completed;
    if (restriction_) observer = &completed.emplace(*restriction_, std::vector<Observer*>{&best});
    isinglass::run(cooling.model(), *sampler, state, params, {.burn_in = steps, .hook = &cooling},
                   {observer}, context_);
    if (ranks().any(context_.to_stop())) {
      throw Interrupted("the run was stopped while it measured its time per step; it made no step");
    }
  };
  const double spent = clock();
  require_options(spent < *spec_.time,
                  "`time` is {} s, but reading the model and choosing temperatures took {:.3g} s, "
                  "which leaves none for steps",
                  *spec_.time, spent);
  return burn_in_within({.seconds = share * (*spec_.time - spent), .after = plan_.steps},
                        make_steps, clock);
}

// Reads an earlier run's summary. Its adapted numbers replace options that are not given;
// restore_learned() restores what it learned for the chains.
void Sampling::read_warm_start() {
  spec_.warm_start = std::filesystem::absolute(spec_.warm_start);
  const std::string file = spec_.warm_start.string();
  const auto summary = nlohmann::json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  require_options(
      summary.is_object() && summary.contains("adapted") && summary["adapted"].is_object(),
      "`warm-start` {} is not the summary.json of a run of isinglass sample", file);
  require_options(summary.value("sampler", "") == spec_.sampler.name,
                  "the run of `warm-start` {} used the sampler {}, but this run uses {}", file,
                  summary.value("sampler", "?"), spec_.sampler.name);
  for (const auto& [name, value] : summary["adapted"].items()) {
    require_options(
        value.is_number() && std::any_of(sampler_options().begin(), sampler_options().end(),
                                         [&name = name](const SamplerOption& option) {
                                           return option.number && option.name == name;
                                         }),
        "`warm-start` {} holds '{}', which is not a numeric option of any sampler", file, name);
    spec_.sampler.options.try_emplace(name, value.get<double>());
  }
}

// Returns the given states, or those of a file. Each row is a chain.
torch::Tensor Sampling::saved_states(const torch::Tensor& given) {
  const std::string source = given.defined() ? "the initial states" : spec_.init;
  const torch::Tensor x = as_states(whole_->space(), given.defined() ? given : read_array(source),
                                    given.defined() ? source : "the states of " + source);
  require_options(!spec_.chains || *spec_.chains == x.size(0),
                  "`chains` is {}, but {} hold{} {} states", spec_.chains.value_or(0), source,
                  given.defined() ? "" : "s", x.size(0));
  spec_.chains = x.size(0);
  if (!given.defined()) spec_.init = std::filesystem::absolute(source).string();
  return x;
}

// Returns where this rank's chains start, on the device: at the given whole states of all chains,
// or at fresh ones. Restricted chains start at random states of their own, or at the reference.
torch::Tensor Sampling::start_states(const torch::Tensor& given) {
  const torch::Device device = context_.device;
  if (restriction_ && !given.defined() && spec_.init == "random") {
    const torch::Tensor reference = restriction_->reference(own_.count);
    if (reference.defined()) return restriction_->restrict(reference, "the reference states");
    return random_states(*model_, chain_ids(), static_cast<uint64_t>(spec_.seed), device);
  }
  const torch::Tensor x = (given.defined() ? own_.of(given) : fresh_states()).to(device);
  return restriction_ ? restriction_->restrict(x, "the initial states") : x;
}

// Returns this rank's fresh start states: random, from the data, or from the instance.
torch::Tensor Sampling::fresh_states() {
  const StateSpace space = whole_->space();
  if (spec_.init == "data") {
    const torch::Tensor x = data_states(space);
    check_states(space, x, "the images of " + data_->name);
    return x;
  }
  const torch::Tensor x =
      random_states(*whole_, chain_ids(), static_cast<uint64_t>(spec_.seed), context_.device);
  return spec_.init == "instance" ? instance_states(at_temperature_one(*whole_), x) : x;
}

// Returns one training image per chain, drawn with the seed, as discrete states or as grey levels
// from 0 to 1.
torch::Tensor Sampling::data_states(const StateSpace& space) {
  require_options(images_ || !spec_.data.name.empty(), "`init` data needs `dataset`");
  const Dataset data = images_ ? *images_ : images_of(spec_.data);
  note_data(data);
  require_complete(data, "`init` data");
  const torch::Tensor images =
      space.discrete() ? binarise_once(data.train, data.values, 0) : as_points(data).train;
  torch::Tensor rows = torch::empty({own_.count}, torch::kInt64);
  for (int64_t i = 0; i < own_.count; ++i) {
    const PhiloxStream draws{static_cast<uint64_t>(spec_.seed),
                             static_cast<uint32_t>(own_.first + i), 0};
    rows[i] = draws.below(static_cast<uint32_t>(images.size(0)), Purpose::kDataInit);
  }
  return images.index_select(0, rows);
}

Recorder::Shape Sampling::draws() const {
  return {plan_.steps / plan_.thin, *spec_.chains, whole_->space().sites, state_.x.scalar_type()};
}

Recorder Sampling::recorder(bool keep_samples, std::filesystem::path file) const {
  Recorder::Refresh refresh{nullptr, 1};
  if (model_->conditionals() || model_->as_lattice()) {
    // Steps of such models may use energy differences, whose rounding errors accumulate.
    const int64_t steps = std::max(kLeastRenewal, kRenewalASite * state_.sites());
    refresh = {whole_.get(), std::max<int64_t>(1, steps / plan_.thin)};
  }
  return Recorder(draws(), statistic_, keep_samples, std::move(file), ranks(), refresh);
}

void Sampling::watch_mixing() {
  mixing_ = std::make_unique<MixingWatch>(whole_->space(), plan_, *spec_.chains, context_.device,
                                          ranks(), alike_);
}

const RunResult& Sampling::run(Recorder& recorder, std::vector<Observer*> observers,
                               RunSaver* saver) {
  plan_.saver = saver;
  observers.insert(observers.begin(), &recorder);
  if (mixing_) observers.push_back(mixing_.get());
  if (best_) observers.push_back(best_.get());
  std::optional<CompletedStates> completed;
  if (restriction_) observers = {&completed.emplace(*restriction_, std::move(observers))};
  if (range_) observers.push_back(range_.get());
  begun_ = synchronised_seconds(context_.device);
  result_ = isinglass::run(target(), *sampler_, state_, params_, plan_, observers, context_);
  seconds_ = seconds_so_far();
  if (tempering_) tempering_report_ = tempering_->report(state_, params_, ranks());
  return result_;
}

// Returns the time of burn-in and steps in all sittings, on the slowest rank [s].
double Sampling::seconds_so_far() const {
  const double here = synchronised_seconds(context_.device) - begun_;
  return seconds_before_ +
         ranks().gather(torch::tensor({here}, torch::kFloat64)).max().item<double>();
}

Json Sampling::summary(const Recorder& recorder) const {
  Json summary = summary_json(spec_, *model_, *sampler_, state_, params_, plan_, result_, recorder,
                              alike_, mixing_.get());
  if (restriction_) {
    summary["sites"] = whole_->space().sites;
    summary["free_sites"] = model_->space().sites;
    summary["parameters_sha256"] = parameters_sha256(*whole_);
    summary["restriction_sha256"] = restriction_sha256_;
  }
  if (data_) {
    summary["dataset"] = data_->name;
    summary["data_sha256"] = data_->sha256;
  }
  if (sampler_number(spec_.sampler, "group")) {
    summary["acceptance_worst_group"] = result_.steps > 0 ? result_.least_acceptance : std::nan("");
  }
  if (spec_.model.gradient_model) summary["gradient_model"] = text_of(*spec_.model.gradient_model);
  if (spec_.anneal) {
    summary["anneal"] = text_of(*spec_.anneal);
    // The steps after burn-in sample exp(−U/T) at the last temperature T.
    if (range_ && spec_.anneal->range->last != 1) summary["exact"] = false;
  }
  if (tempering_) summary["tempering"] = tempering_json(tempering_report_, *spec_.exploration);
  if (best_) summary["best"] = solution_json(spec_.optimum, *best_);
  if (range_) {
    // Chains with other targets than their neighbours have no best state in common.
    summary["annealing"] = annealing_json({.chains = alike_ == *spec_.chains ? *spec_.chains : 0,
                                           .group = group_size(),
                                           .steps = plan_.burn_in + plan_.steps,
                                           .seconds = seconds_,
                                           .at_first = range_->at_first(),
                                           .at_last = range_->at_last()},
                                          summary["best"], *best_);
  }
  if (best_ && best_->problem() && best_->problem()->reading()) {
    summary["graph"] = graph_json(*best_->problem()->reading());
  }
  const auto* quadratic = dynamic_cast<const QuadraticModel*>(whole_.get());
  if (quadratic && quadratic->quadratic_reading()) {
    summary["quadratic"] = quadratic_json(*quadratic->quadratic_reading());
  }
  const auto* network = dynamic_cast<const BayesNetModel*>(whole_.get());
  if (network && network->reading()) summary["network"] = network_json(*network->reading());
  return summary;
}

}  // namespace isinglass
