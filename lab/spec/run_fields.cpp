// Defines the options of sampling, evaluation, bench, energies and grids.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/observers/statistic.h"
#include "lab/presets/presets.h"
#include "lab/spec/tables.h"

namespace isinglass {
namespace {

// Returns the options that restrict the states. `rows` says which other shapes a file of states may
// have, and `init` what else the states of a reference do.
Fields<RestrictionSpec> restriction_fields(const std::string& rows, const std::string& init) {
  return {
      field(&RestrictionSpec::fixed,
            {.name = "fixed",
             .unit = "FILE",
             .help = "keeps some sites at given values and samples the others given them: a file "
                     "(.pt, .npy) of values [D]" +
                     rows +
                     "; NaN, or -1 if states are whole numbers, marks a site that is sampled"}),
      field(&RestrictionSpec::allowed,
            {.name = "allowed",
             .unit = "FILE",
             .help = "limits the values of sites: a file (.pt, .npy) of a table [D, K] that is not "
                     "0 where a site may take a value"}),
      field(&RestrictionSpec::within,
            {.name = "within",
             .unit = "N",
             .help = "limits the states to those that differ from `reference` at N sites at most",
             .minimum = 1}),
      field(&RestrictionSpec::reference,
            {.name = "reference",
             .unit = "FILE",
             .help = "with `within`: a file (.pt, .npy) of a state [D]" + rows + init})};
}

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
          .help = "with tempering: sampler steps on every rung per scan (default: 1)",
          .minimum = 1,
          .maximum = 1e6};
}

Option start_scale_option() {
  return {.name = "start-scale",
          .unit = "S",
          .help =
              "with continuous states: standard deviation of the normal "
              "distribution N(0, S^2) of every site from which tempering and "
              "annealing start; a width like the target's is best (default: 1)",
          .minimum = 0,
          .maximum = 1e6,
          .above_minimum = true};
}

Option inpaint_option(const std::string& what) {
  return {.name = "inpaint",
          .unit = "MASK",
          .help = what +
                  ": upper, lower, left or right (the half that is missing), random (half of the "
                  "pixels), or a file (.png, .pt, .npy) in which missing pixels are not 0",
          .names = mask_names()};
}

Option inpaint_images_option(const std::string& what) {
  return {.name = "inpaint-images",
          .unit = "N",
          .help = fmt::format(
              "with `inpaint`: number of images{} (default: {}, or as many as there are)", what,
              kDefaultImages),
          .minimum = 1,
          .maximum = kLargestStep};
}

Fields<SampleSpec> sample_table() {
  Fields<SampleSpec> all;
  append_model(all, {instance_field(), bounds_field(), temperature_field(), gradient_model_field(),
                     gradient_precision_field()});
  append_sampler(all);
  append(all, Topic::kSampler,
         {field(&SampleSpec::warm_start,
                {.name = "warm-start",
                 .unit = "SUMMARY",
                 .help = "summary.json of an earlier run, whose adapted options and learned "
                         "tensors this run starts with"})});
  append(
      all, Topic::kRun,
      {field(&SampleSpec::chains, {.name = "chains",
                                   .unit = "B",
                                   .help = "number of parallel chains",
                                   .initial = kDefaultChains,
                                   .minimum = 1,
                                   .maximum = kLargestStep}),
       field(&SampleSpec::burn_in, {.name = "burn-in",
                                    .unit = "N",
                                    .help = "number of burn-in steps, whose states are discarded",
                                    .minimum = 0}),
       field(&SampleSpec::steps, {.name = "steps",
                                  .unit = "N",
                                  .help = "number of steps after burn-in",
                                  .initial = kDefaultSteps,
                                  .minimum = 0}),
       field(&SampleSpec::thin,
             {.name = "thin", .unit = "N", .help = "number of steps per draw", .minimum = 1}),
       field(
           &SampleSpec::init,
           {.name = "init",
            .unit = "STATES",
            .help =
                "where chains start: random (a residual model: draws of its base), data (training "
                "images of `dataset`), instance (where the target's paper starts chains) or a "
                "file (.pt, .npy) of states [B, D]",
            .names = {"random", "data", "instance"}})});
  append(all, Topic::kRun,
         fields_in(&SampleSpec::restriction,
                   restriction_fields(
                       ", or [N, D] with a row for each chain or for as many consecutive ones",
                       "; chains start there")));
  append(
      all, Topic::kRun,
      {field(&SampleSpec::inpaint,
             inpaint_option("samples the missing pixels of test images of `dataset` given the "
                            "others")),
       field(&SampleSpec::inpaint_images,
             inpaint_images_option(", each of which takes an equal share of the chains")),
       field(&SampleSpec::anneal,
             {.name = "anneal",
              .unit = "T0,T1",
              .help = "simulated annealing: burn-in samples exp(-U/T) while T falls from T0 to T1 "
                      "in 100 levels with a constant factor; the steps after burn-in sample at T1. "
                      "auto: temperatures that suit the target. Without `sampler` a sparse graph "
                      "is sampled by metropolis, cluster-gibbs or gibbs with `scan` chromatic, and "
                      "`steps` is 10 by default"}),
       field(&SampleSpec::time,
             {.name = "time",
              .unit = "SECONDS",
              .help = "with `anneal`, in place of `burn-in`: the run lasts for about this time; a "
                      "short measurement fixes the number of burn-in steps, which is recorded, and "
                      "if `chains` is left open, populations of 1000 chains or more where they can "
                      "make as many steps",
              .minimum = 0,
              .maximum = 1e8,
              .above_minimum = true}),
       field(&SampleSpec::population,
             {.name = "population",
              .unit = "N",
              .help = "with `anneal`: between levels the chains of each group of N are resampled "
                      "by exp(-(1/T' - 1/T) U), so that chains of low energy are copied in place "
                      "of others; 1: no chain is (default: a third of the chains if `time` chooses "
                      "their number, else 10, or 1 if the sampler exchanges states or the number "
                      "of chains is no multiple of 10)",
              .minimum = 1}),
       field(&SampleSpec::rungs,
             {.name = "rungs",
              .unit = "R",
              .help = "parallel tempering: each chain becomes an ensemble of R states at inverse "
                      "temperatures from beta = 0 (exact draws) to beta = 1 (the target), which "
                      "swap; auto: as many as the target needs. `chains` then counts ensembles, "
                      "and `steps` counts scans"}),
       field(&SampleSpec::exploration, exploration_option()),
       field(&SampleSpec::lowest_beta,
             {.name = "lowest-beta",
              .unit = "B",
              .help = "with tempering: lowest inverse temperature of the ladder (default: 0, where "
                      "draws are exact); above 0, log Z is not estimated",
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
              .help = "statistic of the states for which ESS and, among others, R-hat are "
                      "computed; hamming: the Hamming distance to a fixed state",
              .choices = statistic_names()}),
       field(&SampleSpec::optimum,
             {.name = "optimum",
              .unit = "V",
              .help = "known optimum of maxcut, maxclique or mis, or, with `anneal`, least energy "
                      "of another target, for the ratio and the time to solution in the summary "
                      "(default: the one that the instance or a comment in the file names)"}),
       field(&SampleSpec::no_samples, {.name = "no-samples", .help = "write the summary only"}),
       field(
           &SampleSpec::netcdf,
           {.name = "netcdf",
            .help =
                "also write the draws to DIR/samples.nc, a NetCDF file in the layout of ArviZ"})});
  return all;
}

Fields<EvaluateSpec> evaluate_table() {
  Fields<EvaluateSpec> all;
  append_model(all,
               {instance_field(), bounds_field(), temperature_field(), gradient_precision_field()});
  append_sampler(all);
  append(
      all, Topic::kRun,
      {field(&EvaluateSpec::chains,
             {.name = "chains",
              .unit = "B",
              .help = "annealed chains, or ensembles with `method` tempering",
              .minimum = 1,
              .maximum = 1e8}),
       field(&EvaluateSpec::temperatures,
             {.name = "steps",
              .unit = "N",
              .help = "number of annealing temperatures, or of tempering scans after a burn-in of "
                      "half as many scans",
              .minimum = 1,
              .maximum = 2e9}),
       field(&EvaluateSpec::method,
             {.name = "method",
              .unit = "NAME",
              .help = "ais: annealed importance sampling; tempering: Bennett's acceptance ratio "
                      "between adjacent rungs of parallel tempering",
              .choices = method_names()})});
  append(all, Topic::kRun, fields_in(&EvaluateSpec::restriction, restriction_fields("", "")));
  append(
      all, Topic::kRun,
      {field(&EvaluateSpec::inpaint,
             inpaint_option("estimates how likely the missing pixels of test images of `dataset` "
                            "are given the others, image by image")),
       field(&EvaluateSpec::inpaint_images, inpaint_images_option("")),
       field(
           &EvaluateSpec::rungs,
           {.name = "rungs",
            .unit = "R",
            .help =
                "with tempering: number of rungs, or auto: as many as the target needs (default)"}),
       field(&EvaluateSpec::exploration, exploration_option()),
       field(&EvaluateSpec::start_scale, start_scale_option()),
       field(
           &EvaluateSpec::schedule,
           {.name = "schedule",
            .unit = "NAME",
            .help =
                "spacing of the annealing temperatures; adaptive: chosen by a pilot run (default)",
            .choices = schedule_names()}),
       field(&EvaluateSpec::path,
             {.name = "path",
              .unit = "NAME",
              .help = "linear: the energies of the start and of the target are mixed; joint: the "
                      "weights of an rbm are scaled, so that block Gibbs sweeps work at every "
                      "temperature (default: joint for an rbm unless a sampler is named)",
              .choices = path_names()}),
       field(&EvaluateSpec::reverse, {.name = "reverse",
                                      .help = "also anneal from the model back to the start, which "
                                              "gives likelihoods from both ends and a verdict "
                                              "(default with annealing)"}),
       field(&EvaluateSpec::reverse_from,
             {.name = "reverse-from",
              .unit = "SOURCE",
              .help = "where reverse chains start: exact (exact draws, if the model has them), "
                      "chains (long chains, run until R-hat is below 1.05), tempering (states of "
                      "parallel tempering) or a .pt file of states [N, D] or draws [N, B, D]; "
                      "auto: exact if possible, else chains, and tempering in the later rounds of "
                      "`until-closed` if the chains have not mixed (default)",
              .names = {"exact", "chains", "tempering", "auto"}}),
       field(&EvaluateSpec::bracket, {.name = "bracket",
                                      .unit = "NATS",
                                      .help = "largest difference between the two estimates of log "
                                              "Z with which the verdict is closed",
                                      .minimum = 0}),
       field(&EvaluateSpec::until_closed,
             {.name = "until-closed",
              .unit = "SECONDS",
              .help = "anneal in both directions, and repeat this with twice the temperatures and "
                      "new chains until the verdict is closed or the next repeat would not fit "
                      "into this time; 0: anneal once",
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
      {field(&BenchSpec::chains, count("chains", "number of parallel chains", 1, 1e8)),
       field(&BenchSpec::burn_in, count("burn-in", "steps before anything is timed", 0, 1e9)),
       field(&BenchSpec::steps_per_iteration,
             count("steps-per-iter", "sampler steps of a training iteration", 1, 1e6)),
       field(&BenchSpec::rungs, count("rungs",
                                      "number of rungs of an ensemble in the tempered scan; the "
                                      "number of ensembles is `chains` divided by it",
                                      2, 10000)),
       field(&BenchSpec::exploration, exploration_option()),
       field(&BenchSpec::warm_up,
             count("warm-up", "rounds that are run first and not measured", 1, 100)),
       field(&BenchSpec::repeats,
             count("repeats", "measured rounds, each with one measurement of every stage", 1, 500)),
       field(&BenchSpec::stages,
             {.name = "stages",
              .unit = "LIST",
              .help = fmt::format("comma-separated stages to time (default: all that apply of {})",
                                  fmt::join(stage_names(), ", "))}),
       field(&BenchSpec::cuda_graph, cuda_graph_option()), field(&BenchSpec::seed, seed_option())});
  return all;
}

Fields<EnergySpec> energy_table() {
  Fields<EnergySpec> all;
  append_model(all, {instance_field(), bounds_field()});
  append(
      all, Topic::kData,
      {field(&EnergySpec::states,
             {.name = "states", .unit = "FILE", .help = "states [N, D] (.pt, .npy); required"})});
  return all;
}

Fields<GridSpec> grid_table() {
  Fields<GridSpec> all;
  append(
      all, Topic::kRun,
      {field(&GridSpec::file, {.name = "grid", .unit = "FILE", .help = "file of the grid (TOML)"}),
       field(&GridSpec::preset,
             {.name = "preset",
              .unit = "NAME",
              .help = fmt::format("name of a published experiment's grid: {}",
                                  fmt::join(preset_names(grid_presets()), ", "))}),
       field(&GridSpec::scale,
             {.name = "scale",
              .unit = "S",
              .help = "fraction of the published sampling work: chains, steps and training "
                      "iterations are multiplied by its square root, and smaller targets are used "
                      "where the grid has them",
              .minimum = 0,
              .maximum = 1,
              .above_minimum = true}),
       field(&GridSpec::repeats,
             {.name = "repeats",
              .unit = "N",
              .help = "runs of every cell, each with its own seed; 0: the number in the grid",
              .minimum = 0,
              .adjustable = true}),
       field(&GridSpec::until_converged,
             {.name = "until-converged",
              .unit = "SECONDS",
              .help =
                  "run a cell again with twice the burn-in and steps until R-hat is at most 1.05, "
                  "unless a run would take longer than this; 0: run it once, with the grid's steps",
              .minimum = 0,
              .adjustable = true}),
       field(&GridSpec::weights,
             {.name = "weights",
              .unit = "FILE",
              .help = "parameters of the grid's trained models, which are then not trained"}),
       field(&GridSpec::cache, {.name = "cache",
                                .unit = "DIR",
                                .help = "folder in which trained models are kept, identified by "
                                        "their settings (default: ~/.cache/isinglass)"}),
       field(&GridSpec::seed, seed_option())});
  append_data(all);
  return all;
}

}  // namespace

const std::vector<std::string>& stage_names() {
  static const std::vector<std::string> names = {
      "energy", "energy-gradient", "energy-differences", "proposal",   "acceptance", "step",
      "scan",   "ais-step",        "training-iteration", "sgemm-1024", "sgemm-2048", "sgemm-4096",
      "copy"};
  return names;
}

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
