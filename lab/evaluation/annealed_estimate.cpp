// Implements the estimate of log Z by annealed importance sampling.
#include "lab/evaluation/annealed_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/pt/entries.h"
#include "lab/evaluation/reverse_start.h"
#include "lab/run/assemble.h"
#include "lab/spec/tables.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

template <class Enum>
Enum named(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

AisOptions ais_options(const EvaluateSpec& spec, EnergyModel& model, const Sampler& sampler,
                       int64_t temperatures, int64_t first_chain, bool curve,
                       torch::Device device) {
  AisOptions ais;
  ais.chains = spec.chains;
  ais.temperatures = temperatures;
  ais.first_chain = first_chain;
  ais.schedule = named<Schedule>(schedule_names(), spec.schedule);
  ais.path = named<PathKind>(path_names(), spec.path);
  ais.seed = static_cast<uint64_t>(spec.seed);
  ais.cuda_graph = captures_steps(spec.cuda_graph, model, sampler, device);
  if (curve) ais.curve = decades_below(temperatures);
  if (*spec.reverse) {
    ais.reverse = reverse_start(spec.reverse_from, model, spec.chains, temperatures, first_chain,
                                stream_key(ais.seed, RandomStream::kReference), device);
  }
  return ais;
}

}  // namespace

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"linear", "sigmoid", "adaptive"};
  return names;
}

std::string estimate_text(double value, double error) {
  return fmt::format("{:.3f} ± {}", value,
                     std::isnan(error) ? "undefined" : fmt::format("{:.3f}", error));
}

std::string interval_text(const std::optional<ErrorInterval>& interval) {
  return interval ? fmt::format("{:.3f} to {:.3f}", interval->low, interval->high) : "undefined";
}

AnnealedEstimate::AnnealedEstimate(const EvaluateSpec& spec, EnergyModel& model,
                                   const Sampler& sampler, const Factorised& start,
                                   int64_t temperatures, int64_t first_chain, bool curve,
                                   const Context& context)
    : schedule_(spec.schedule),
      path_(spec.path),
      reverse_from_(spec.reverse_from),
      tempered_(*spec.reverse && reverse_from_ == kTemperedStart
                    ? std::make_unique<TemperedStart>(spec, model, start, temperatures, first_chain,
                                                      context)
                    : nullptr),
      annealing_(
          model, sampler, start,
          ais_options(spec, model, sampler, temperatures, first_chain, curve, context.device),
          context.device, *context.ranks) {}

bool AnnealedEstimate::run(const std::function<void()>& on_step,
                           const std::function<bool()>& stop) {
  if (tempered_) {
    if (!tempered_->run(on_step, stop)) return false;
    annealing_.reverse_from(tempered_->states(), tempered_->rhat(), tempered_->round_trips());
  }
  result_ = annealing_.run(on_step, stop);
  return result_.finished;
}

int64_t AnnealedEstimate::steps_done() const {
  return annealing_.steps_done() + (tempered_ ? tempered_->steps_done() : 0);
}

int64_t AnnealedEstimate::steps_total() const {
  return annealing_.steps_total() + (tempered_ ? tempered_->steps_total() : 0);
}

int64_t AnnealedEstimate::energy_evaluations() const {
  return result_.energy_evaluations + (tempered_ ? tempered_->energy_evaluations() : 0);
}

PtDict AnnealedEstimate::checkpoint() const {
  if (!tempered_) return annealing_.checkpoint();
  PtDict dict = tempered_->finished() ? annealing_.checkpoint() : PtDict();
  put(dict, "reverse_start", tempered_->checkpoint());
  return dict;
}

void AnnealedEstimate::restore(const PtDict& checkpoint) {
  if (tempered_) {
    tempered_->restore(PtEntries(checkpoint, "the annealing checkpoint").dict("reverse_start"));
    if (!tempered_->finished()) return;
  }
  annealing_.restore(checkpoint);
}

BracketVerdict AnnealedEstimate::verdict(double largest_bracket) const {
  return verdict_on(result_.diagnostics(), largest_bracket);
}

std::string AnnealedEstimate::text(double start_error) const {
  const int64_t chains = result_.log_weights.numel();
  std::string text =
      fmt::format("log Z {} (ESS of the weights {:.1f} of {})\n",
                  estimate_text(result_.log_z, std::hypot(result_.log_z_se, start_error)),
                  result_.weight_ess, chains);
  if (!result_.reverse) return text;
  const ReverseResult& reverse = *result_.reverse;
  return text + fmt::format("  in reverse {} (ESS {:.1f} of {}), both ways {}\n",
                            estimate_text(reverse.log_z_upper,
                                          std::hypot(reverse.log_z_upper_se, start_error)),
                            reverse.weight_ess, chains,
                            estimate_text(reverse.log_z_bidirectional,
                                          std::hypot(reverse.log_z_bidirectional_se, start_error)));
}

Json AnnealedEstimate::json(double start_error) const {
  Json json = {{"schedule", schedule_},
               {"path", path_},
               {"log_z", result_.log_z},
               {"log_z_se", std::hypot(result_.log_z_se, start_error)},
               {"weight_ess", result_.weight_ess}};
  if (!result_.reverse) return json;
  const ReverseResult& reverse = *result_.reverse;
  json.update(
      Json{{"log_z_upper", reverse.log_z_upper},
           {"log_z_upper_se", std::hypot(reverse.log_z_upper_se, start_error)},
           {"weight_ess_reverse", reverse.weight_ess},
           {"log_z_bidirectional", reverse.log_z_bidirectional},
           {"log_z_bidirectional_se", std::hypot(reverse.log_z_bidirectional_se, start_error)},
           {"reverse_start", reverse_start_json(reverse_from_, reverse)}});
  if (tempered_) json["reverse_start"].update(tempered_->json());
  return json;
}

std::optional<double> AnnealedEstimate::reverse_start_rhat() const {
  if (!result_.reverse) return {};
  return result_.reverse->rhat;
}

PtDict AnnealedEstimate::chains() const {
  PtDict chains = {{"x", {result_.x}}, {"log_weights", {result_.log_weights}}};
  if (result_.reverse) {
    chains.push_back({"x_reverse", {result_.reverse->x}});
    chains.push_back({"log_weights_reverse", {result_.reverse->log_weights}});
  }
  return chains;
}

}  // namespace isinglass
