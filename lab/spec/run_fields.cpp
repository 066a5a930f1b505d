// Defines the options of sampling, evaluation, bench, energies and grids.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/observers/statistic.h"
#include "lab/bench/stages.h"
#include "lab/grid/presets.h"
#include "lab/spec/tables.h"

namespace isinglass {
namespace {

// Appends model, weights, … of a spec that loads a model.
template <class Spec>
void append_model(Fields<Spec>& all, Fields<ModelSpec> more = {}) {
  Fields<ModelSpec> fields = model_fields();
  for (Field<ModelSpec>& one : more) fields.push_back(std::move(one));
  append(all, Topic::kModel, fields_in(&Spec::model, fields));
}

template <class Spec>
void append_sampler(Fields<Spec>& all, const std::string& initial = "") {
  append(all, Topic::kSampler, fields_in(&Spec::sampler, sampler_fields(initial)));
}

template <class Spec>
void append_data(Fields<Spec>& all) {
  append(all, Topic::kData, fields_in(&Spec::data, data_fields()));
}

Option exploration_option() {
  return {.name = "exploration",
          .unit = "N",
          .help = "of tempering: steps of the sampler on every rung in a scan (default: 1)",
          .minimum = 1,
          .maximum = 1e6};
}

Option start_scale_option() {
  return {.name = "start-scale",
          .unit = "S",
          .help =
              "of continuous states: tempering and annealing begin at N(0, S^2) of every site; "
              "as wide as the target is best (default: 1)",
          .minimum = 0,
          .maximum = 1e6,
          .above_minimum = true};
}

Fields<SampleSpec> sample_table() {
  Fields<SampleSpec> all;
  append_model(all, {instance_field(), gradient_model_field(), gradient_precision_field()});
  append_sampler(all);
  append(
      all, Topic::kSampler,
      {field(&SampleSpec::warm_start,
             {.name = "warm-start",
              .unit = "SUMMARY",
              .help = "summary.json of an earlier run: start with what it adapted and learned"})});
  append(
      all, Topic::kRun,
      {field(&SampleSpec::chains, {.name = "chains",
                                   .unit = "B",
                                   .help = "parallel chains",
                                   .initial = kDefaultChains,
                                   .minimum = 1,
                                   .maximum = kLargestStep}),
       field(
           &SampleSpec::burn_in,
           {.name = "burn-in", .unit = "N", .help = "steps before those that count", .minimum = 0}),
       field(&SampleSpec::steps,
             {.name = "steps", .unit = "N", .help = "steps; required", .minimum = 0}),
       field(&SampleSpec::thin,
             {.name = "thin", .unit = "N", .help = "steps per draw", .minimum = 1}),
       field(&SampleSpec::init,
             {.name = "init",
              .unit = "STATES",
              .help = "random, data (training images of `dataset`), instance (where the target's "
                      "paper starts) or a .pt file of states [B, D]",
              .names = {"random", "data", "instance"}}),
       field(&SampleSpec::anneal,
             {.name = "anneal",
              .unit = "T0,T1",
              .help = "cool in burn-in: its steps have the target exp(-U/T), T falling from T0 to "
                      "T1 by a constant factor; the steps after it have T1"}),
       field(&SampleSpec::rungs,
             {.name = "rungs",
              .unit = "R",
              .help = "parallel tempering: R states a chain, on rungs from exact draws (beta = 0) "
                      "to the target (beta = 1), which swap; auto: as many as the target asks for. "
                      "Then `chains` counts such ensembles, and steps are scans"}),
       field(&SampleSpec::exploration, exploration_option()),
       field(
           &SampleSpec::lowest_beta,
           {.name = "lowest-beta",
            .unit = "B",
            .help = "of tempering: where the ladder begins (default: 0, of exact draws); above it "
                    "there is no log Z",
            .minimum = 0,
            .maximum = 1}),
       field(&SampleSpec::start_scale, start_scale_option()),
       field(&SampleSpec::cuda_graph, cuda_graph_option()),
       field(&SampleSpec::seed, seed_option())});
  append_data(all);
  append(
      all, Topic::kOutput,
      {field(&SampleSpec::statistic,
             {.name = "statistic",
              .unit = "NAME",
              .help =
                  "what ESS is of, and R-hat beside others; hamming: the distance to a fixed state",
              .choices = statistic_names()}),
       field(&SampleSpec::optimum,
             {.name = "optimum",
              .unit = "V",
              .help = "known optimum of maxcut, maxclique or mis, for the ratio in the summary "
                      "(default: what a comment in the graph's file names)"}),
       field(&SampleSpec::no_samples, {.name = "no-samples", .help = "write the summary only"}),
       field(&SampleSpec::netcdf,
             {.name = "netcdf",
              .help = "write the draws to DIR/samples.nc, too: NetCDF in the layout of ArviZ"})});
  return all;
}

Fields<EvaluateSpec> evaluate_table() {
  Fields<EvaluateSpec> all;
  append_model(all, {instance_field(), gradient_precision_field()});
  append_sampler(all);
  append(
      all, Topic::kRun,
      {field(&EvaluateSpec::chains, {.name = "chains",
                                     .unit = "B",
                                     .help = "annealed chains, or ensembles",
                                     .minimum = 1,
                                     .maximum = 1e8}),
       field(&EvaluateSpec::temperatures,
             {.name = "steps",
              .unit = "N",
              .help = "temperatures of annealing, or scans of tempering after half as many of "
                      "burn-in",
              .minimum = 1,
              .maximum = 2e9}),
       field(
           &EvaluateSpec::method,
           {.name = "method",
            .unit = "NAME",
            .help = "ais: annealed importance sampling; tempering: Bennett's ratio over the rungs "
                    "of parallel tempering",
            .choices = method_names()}),
       field(&EvaluateSpec::rungs,
             {.name = "rungs",
              .unit = "R",
              .help = "of tempering: a number, or auto: as many as the target asks for (default)"}),
       field(&EvaluateSpec::exploration, exploration_option()),
       field(&EvaluateSpec::start_scale, start_scale_option()),
       field(&EvaluateSpec::schedule, {.name = "schedule",
                                       .unit = "NAME",
                                       .help = "spacing of the temperatures of annealing; "
                                               "adaptive: by a pilot run (default)",
                                       .choices = schedule_names()}),
       field(&EvaluateSpec::path,
             {.name = "path",
              .unit = "NAME",
              .help = "linear: energies are mixed; joint: an rbm's weights are scaled, so that "
                      "its sweeps serve all the way (default: joint for an rbm unless a sampler "
                      "is named)",
              .choices = path_names()}),
       field(&EvaluateSpec::reverse,
             {.name = "reverse",
              .help = "anneal from the model back to the start, too: likelihoods from both ends, "
                      "with a verdict"}),
       field(&EvaluateSpec::reverse_from,
             {.name = "reverse-from",
              .unit = "SOURCE",
              .help = "where reverse chains start: exact (draws of a model that has them), chains "
                      "(long ones, until R-hat is below 1.05), tempering (states of a ladder) or "
                      "a .pt file of states [N, D] or draws [N, B, D]; auto: exact, else chains, "
                      "and once they have not mixed (`until-closed`) tempering (default)",
              .names = {"exact", "chains", "tempering", "auto"}}),
       field(&EvaluateSpec::bracket, {.name = "bracket",
                                      .unit = "NATS",
                                      .help = "largest difference of the two ends that is closed",
                                      .minimum = 0}),
       field(&EvaluateSpec::until_closed,
             {.name = "until-closed",
              .unit = "SECONDS",
              .help = "anneal both ways, again with twice the temperatures and fresh chains as "
                      "long as the verdict is open and that fits into this time; 0: once",
              .minimum = 0}),
       field(&EvaluateSpec::cuda_graph, cuda_graph_option()),
       field(&EvaluateSpec::seed, seed_option())});
  append_data(all);
  append(all, Topic::kData, fields_in(&EvaluateSpec::data, split_fields()));
  return all;
}

Fields<BenchSpec> bench_table() {
  const auto count = [](const char* name, const char* help, double minimum, double maximum) {
    return Option{.name = name, .unit = "N", .help = help, .minimum = minimum, .maximum = maximum};
  };
  Fields<BenchSpec> all;
  append_model(all, {gradient_precision_field()});
  append(all, Topic::kModel, fields_in(&BenchSpec::shape, new_model_fields()));
  append_sampler(all, kDefaultSampler);
  append(
      all, Topic::kRun,
      {field(&BenchSpec::chains, count("chains", "parallel chains", 1, 1e8)),
       field(&BenchSpec::burn_in, count("burn-in", "steps before anything is timed", 0, 1e9)),
       field(&BenchSpec::steps_per_iteration,
             count("steps-per-iter", "sampler steps of a training iteration", 1, 1e6)),
       field(&BenchSpec::rungs,
             count("rungs", "rungs of a tempered scan, whose ensembles are as many chains in all",
                   2, 10000)),
       field(&BenchSpec::exploration, exploration_option()),
       field(&BenchSpec::warm_up, count("warm-up", "rounds that do not count", 1, 100)),
       field(&BenchSpec::repeats,
             count("repeats", "rounds: one measurement of every stage each", 1, 500)),
       field(&BenchSpec::stages,
             {.name = "stages",
              .unit = "LIST",
              .help = fmt::format("what to time, with commas (default: all that there are of {})",
                                  fmt::join(stage_names(), ", "))}),
       field(&BenchSpec::cuda_graph, cuda_graph_option()), field(&BenchSpec::seed, seed_option())});
  return all;
}

Fields<EnergySpec> energy_table() {
  Fields<EnergySpec> all;
  append_model(all);
  append(all, Topic::kData,
         {field(&EnergySpec::states,
                {.name = "states", .unit = "FILE", .help = "states [N, D] (.pt); required"})});
  return all;
}

Fields<GridSpec> grid_table() {
  Fields<GridSpec> all;
  append(
      all, Topic::kRun,
      {field(&GridSpec::file, {.name = "grid", .unit = "FILE", .help = "the grid (TOML)"}),
       field(&GridSpec::preset,
             {.name = "preset",
              .unit = "NAME",
              .help = fmt::format("a grid of the papers: {}", fmt::join(preset_names(), ", "))}),
       field(&GridSpec::scale,
             {.name = "scale",
              .unit = "S",
              .help = "share of the work of sampling: chains, steps and training iterations "
                      "times its square root, and smaller targets where the grid has them",
              .minimum = 0,
              .maximum = 1,
              .above_minimum = true}),
       field(
           &GridSpec::repeats,
           {.name = "repeats",
            .unit = "N",
            .help = "runs of every cell, each with a seed of its own; 0: as many as the grid says",
            .minimum = 0,
            .adjustable = true}),
       field(&GridSpec::until_converged,
             {.name = "until-converged",
              .unit = "SECONDS",
              .help = "run a cell again with twice the burn-in and steps until R-hat is at most "
                      "1.05, as long as a run takes no more than this; 0: as long as the grid "
                      "says",
              .minimum = 0,
              .adjustable = true}),
       field(&GridSpec::weights,
             {.name = "weights",
              .unit = "FILE",
              .help = "parameters of the grid's trained models, in place of training"}),
       field(&GridSpec::cache, {.name = "cache",
                                .unit = "DIR",
                                .help = "where trained models are kept by their settings (default: "
                                        "~/.cache/isinglass)"}),
       field(&GridSpec::seed, seed_option())});
  append_data(all);
  return all;
}

}  // namespace

template <>
const Fields<SampleSpec>& fields_of() {
  static const Fields<SampleSpec> table = sample_table();
  return table;
}

template <>
const Fields<EvaluateSpec>& fields_of() {
  static const Fields<EvaluateSpec> table = evaluate_table();
  return table;
}

template <>
const Fields<BenchSpec>& fields_of() {
  static const Fields<BenchSpec> table = bench_table();
  return table;
}

template <>
const Fields<EnergySpec>& fields_of() {
  static const Fields<EnergySpec> table = energy_table();
  return table;
}

template <>
const Fields<GridSpec>& fields_of() {
  static const Fields<GridSpec> table = grid_table();
  return table;
}

}  // namespace isinglass
