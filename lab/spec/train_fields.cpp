// Defines the options of training: model, objective, chains, optimiser and checkpoints.
#include <fmt/format.h>

#include "lab/spec/tables.h"
#include "models/combined/residual.h"
#include "train/likelihood.h"
#include "train/objectives/dsm.h"
#include "train/objectives/nce.h"
#include "train/trainer.h"

namespace isinglass {
namespace {

Option number(const char* name, const char* unit, std::string help, double minimum) {
  return {.name = name, .unit = unit, .help = std::move(help), .minimum = minimum};
}

// These options apply to the objectives with chains of the model, with persistent ones, without
// chains, and to all that learn from discrete states.
const std::vector<std::string> kChains = {"pcd", "cd"}, kPersistent = {"pcd"}, kScores = {"dsm"},
                               kDiscrete = {"pcd", "cd", "nce"};

Fields<TrainSpec> only(const std::vector<std::string>& objectives, Fields<TrainSpec> all) {
  for (Field<TrainSpec>& one : all) one.option.objectives = objectives;
  return all;
}

Field<TrainSpec> only(const std::vector<std::string>& objectives, Field<TrainSpec> one) {
  one.option.objectives = objectives;
  return one;
}

template <class T>
Field<TrainSpec> of_pcd(T PcdOptions::* member, Option option) {
  return field_in(&TrainSpec::pcd, field(member, std::move(option)));
}

template <class T>
Field<TrainSpec> of_training(T TrainOptions::* member, Option option) {
  return field_in(&TrainSpec::train, field(member, std::move(option)));
}

Fields<TrainSpec> objective_fields() {
  Option noise = number("noise", "SIGMA", "standard deviation of the noise of score matching", 0);
  noise.above_minimum = true;
  Option rate = number("lr", "RATE", "learning rate of Adam after the warm-up", 0);
  rate.above_minimum = true;
  const Option schedule = {
      .name = "lr-schedule",
      .unit = "NAME",
      .help =
          "how the learning rate falls from the end of the warm-up to `iters`; a run that is "
          "resumed with another `iters` starts the fall there",
      .choices = rate_schedules(),
      .adjustable = true};
  Option end_rate = number("lr-end", "RATE",
                           "learning rate at `iters` (default: 0, or `lr` if it is constant)", 0);
  end_rate.adjustable = true;
  Option clip = number(
      "clip", "X",
      "largest norm of the gradient; a larger gradient is scaled down to it (default: none)", 0);
  clip.above_minimum = true;
  Option recover = number("recover", "N",
                          "how often within ten checkpoints a run that diverges goes back to a "
                          "checkpoint and halves its learning rate; 0: a run that diverges ends",
                          0);
  recover.adjustable = true;
  Option decay =
      number("ema", "DECAY", "decay of the exponential moving average of the parameters", 0);
  decay.maximum = 1;
  Option reinit = number("reinit", "P",
                         "probability that a chain drawn from the buffer restarts (default: 0, or "
                         "0.05 for continuous states)",
                         0);
  reinit.maximum = 1;
  Option data_noise = number(
      "data-noise", "SIGMA",
      "standard deviation of the normal noise that every iteration adds to continuous data", 0);
  Option rungs = number(
      "rungs", "N",
      "run N extra chains at inverse temperatures 0, 1/N, …, which swap states with one chain of "
      "each minibatch, so that training also sees modes that the other chains do not reach",
      0);
  rungs.adjustable = true;
  Option fresh = number("fresh", "N",
                        "run N extra chains from uniform noise; after `fresh-iters` iterations the "
                        "state of each replaces a persistent chain, so that training also sees "
                        "modes that persistent chains do not reach",
                        0);
  Option fresh_iterations = number("fresh-iters", "N",
                                   "iterations for which an extra chain of `fresh` runs before its "
                                   "state replaces a persistent chain",
                                   1);
  for (Option* option : {&fresh, &fresh_iterations}) option->adjustable = true;
  Option l1 =
      number("l1", "X", "weight of the penalty on the absolute couplings of an ising (L1)", 0);
  l1.initial = PcdOptions().l1;
  Option beta1 = number("beta1", "X", "decay of Adam's first moment", 0);
  beta1.maximum = 1;
  const Option lr_control = {
      .name = "lr-control",
      .unit = "NAME",
      .help =
          "lag: lower the learning rate, and leave out updates, where the model runs ahead of "
          "its persistent chains, by the effective sample size of their weights exp(-w), w "
          "being the change of a chain's energy since it was last drawn",
      .choices = {"none", "lag"}};
  const Option steps_end = number("steps-end", "N",
                                  "sampler steps of the last iteration, to which the number grows "
                                  "over the last fifth of `iters` (default: it stays)",
                                  1);
  const Option steps = number("steps-per-iter", "N",
                              fmt::format("sampler steps per iteration; for nce: Gibbs sweeps of "
                                          "the base, {} by default",
                                          NceOptions::kDefaultSweeps),
                              1);
  Option iterations = number("iters", "N", "number of iterations", 1);
  Option checkpoints = number("checkpoint-every", "N", "iterations between checkpoints", 1);
  Option evaluations = number("evaluate-every", "N",
                              "iterations between quick estimates of the validation likelihood, 0 "
                              "for never; best.pt keeps the parameters of the best one whose "
                              "annealing weights have a large enough effective sample size "
                              "(default: a tenth of `iters`, or 0 if there are no validation "
                              "images or the sampler is not exact)",
                              0);
  for (Option* option : {&iterations, &checkpoints, &evaluations}) option->adjustable = true;
  return {
      only(kChains,
           field(&TrainSpec::base,
                 {.name = "base",
                  .help = "build the model on a base distribution of independent pixels with the "
                          "data's means (categorical images: frequencies)"})),
      only(kChains,
           field(&TrainSpec::base_smooth,
                 {.name = "base-smooth",
                  .unit = "SIGMA",
                  .help = "smooth the base frequencies of categorical images by a Gaussian with "
                          "this standard deviation in levels (default: no smoothing)",
                  .minimum = 0,
                  .above_minimum = true})),
      field(&TrainSpec::objective,
            {.name = "objective",
             .unit = "NAME",
             .help =
                 "pcd: persistent contrastive divergence on images, or on points with a sampler of "
                 "continuous states; cd: "
                 "contrastive divergence, whose chains start at the batch and make Gibbs "
                 "sweeps of an rbm unless model or sampler are given; nce: noise-contrastive "
                 "estimation of the network of a residual model, which learns to tell images "
                 "from draws of its base; dsm: denoising score matching of continuous states "
                 "on points [N, D] or grey levels from 0 to 1; "
                 "classify: cross-entropy of the data set's classes on grey levels",
             .choices = {"pcd", "cd", "nce", "dsm", "classify"}}),
      only(kScores, field_in(&TrainSpec::dsm, field(&DsmOptions::noise, noise))),
      only(kDiscrete, of_pcd(&PcdOptions::steps, steps)),
      only(kChains,
           field_in(&TrainSpec::pcd, field_unless_default(&PcdOptions::steps_end, steps_end))),
      only(kPersistent,
           of_pcd(&PcdOptions::buffer, number("buffer", "N", "number of persistent chains", 1))),
      field(&TrainSpec::batch,
            number("batch", "N", "number of images, and of chains, per iteration", 1)),
      of_training(&TrainOptions::iterations, iterations),
      of_training(&TrainOptions::learning_rate, rate),
      field(&TrainSpec::warmup,
            number("warmup", "N",
                   "iterations over which the learning rate rises to `lr` (default: a tenth of "
                   "`iters`, at most 10000)",
                   0)),
      of_training(&TrainOptions::schedule, schedule),
      only(kPersistent, field(&TrainSpec::lr_control, lr_control)),
      field_in(&TrainSpec::train, field_unless_default(&TrainOptions::end_rate, end_rate)),
      field_in(&TrainSpec::train, field_unless_default(&TrainOptions::clip, clip)),
      of_training(&TrainOptions::weight_decay,
                  number("weight-decay", "X",
                         "weight decay: every iteration shrinks the weights by X times the "
                         "learning rate; biases are not changed",
                         0)),
      of_training(&TrainOptions::ema, decay),
      of_training(&TrainOptions::beta1, beta1),
      only(kChains, field(&TrainSpec::l1, l1)),
      only(kChains, of_pcd(&PcdOptions::l2,
                           number("l2", "X", "weight of the penalty on the squared energies", 0))),
      only(kChains, of_pcd(&PcdOptions::p_control,
                           number("p-control", "X",
                                  "weight of the penalty on the squared gradient at the data", 0))),
      only(kPersistent, field(&TrainSpec::reinit, reinit)),
      only(kChains,
           field_in(&TrainSpec::pcd, field_unless_default(&PcdOptions::data_noise, data_noise))),
      only(kPersistent, of_pcd(&PcdOptions::rungs, rungs)),
      only(kPersistent, of_pcd(&PcdOptions::fresh, fresh)),
      only(kPersistent, of_pcd(&PcdOptions::fresh_iterations, fresh_iterations)),
      only(kChains, of_pcd(&PcdOptions::centre, {.name = "centre",
                                                 .help = "centre the units of an rbm in every "
                                                         "step, by their means over the data"})),
      of_training(&TrainOptions::checkpoint_every, checkpoints),
      of_training(&TrainOptions::recover, recover),
      only(kDiscrete, field(&TrainSpec::evaluate_every, evaluations)),
      only(kChains,
           field(&TrainSpec::evaluate_steps,
                 number("evaluate-steps", "N",
                        fmt::format("annealing temperatures of a quick estimate of the validation "
                                    "likelihood; residual models are not annealed, but take "
                                    "importance weights of draws of their base (default: {}, or "
                                    "fewer without `evaluate-every`, so that all estimates take at "
                                    "most a tenth of the run's steps)",
                                    ValidationOptions().temperatures),
                        1))),
      only(kChains, field(&TrainSpec::cuda_graph, cuda_graph_option())),
      field(&TrainSpec::seed, seed_option()),
  };
}

Fields<NewModelSpec> residual_fields() {
  return {
      field(&NewModelSpec::base_model,
            {.name = "base-model",
             .unit = "NAME=FILE",
             .help = "base of a new residual model, with its parameter file: a model of the same "
                     "images, which the network corrects; its parameters are not trained"}),
      field(&NewModelSpec::base_log_z,
            {.name = "base-log-z",
             .unit = "X",
             .help = "log Z of the base, which the model's file keeps for likelihoods (default: "
                     "computed for independent pixels, unknown otherwise)"}),
      field(&NewModelSpec::base_log_z_error,
            {.name = "base-log-z-error",
             .unit = "X",
             .help = "standard error of `base-log-z`; without it no verdict "
                     "of `evaluate` on the model is closed",
             .minimum = 0}),
      field(&NewModelSpec::base_evaluation,
            {.name = "base-evaluation",
             .unit = "DIR",
             .help = "directory of a finished evaluation of the base, from which `base-log-z` and "
                     "`base-log-z-error` are taken; the error only if its verdict is closed"}),
      field(&NewModelSpec::bound,
            {.name = "bound",
             .unit = "NATS",
             .help = "largest number of nats by which the network of a residual model changes the "
                     "energy of the base; 0: no bound",
             .initial = ResidualOptions::kDefaultBound,
             .minimum = 0}),
      field(&NewModelSpec::network, {.name = "network",
                                     .unit = "NAME",
                                     .help = "network of a residual model",
                                     .initial = "resnet",
                                     .choices = {"resnet", "mlp"}}),
      field(&NewModelSpec::head,
            {.name = "head",
             .unit = "NAME",
             .help = "last layer of a residual model's resnet: of the mean over the positions of "
                     "the last map, or linear in all of them, so that it sees where a feature is",
             .initial = "mean",
             .choices = {"mean", "linear"}})};
}

Fields<TrainSpec> train_table() {
  const Fields<ModelSpec> model = {
      field(&ModelSpec::name,
            {.name = "model",
             .unit = "NAME",
             .help = "resnet, mlp, rbm, ising or residual; the default is rbm for cd, residual for "
                     "nce, and mlp for dsm and classify",
             .initial = "resnet"}),
      field(&ModelSpec::weights,
            {.name = "weights",
             .unit = "FILE",
             .help = "parameters to start from (.pt), of the same model and size; the averages of "
                     "the parameters and the state of the optimiser are not taken over, and chains "
                     "start at training images"}),
      field(&ModelSpec::image, {.name = "image",
                                .unit = "HxW",
                                .help = "height and width of the images; data stored as rows [N, H "
                                        "W] are read in this shape",
                                .initial = text_of(ImageSize())}),
      gradient_precision_field()};
  Fields<TrainSpec> all;
  append(all, Topic::kModel, fields_in(&TrainSpec::model, model));
  append(all, Topic::kModel, {only(kChains, field_in(&TrainSpec::model, bounds_field()))});
  append(all, Topic::kModel, fields_in(&TrainSpec::shape, new_model_fields()));
  const Fields<NewModelSpec> edges = {field(
      &NewModelSpec::edges,
      {.name = "edges",
       .unit = "NAME",
       .help = "pairs of sites that a new ising couples: all pairs, or neighbours in the image "
               "with open or periodic boundaries; without `base` the model has no fields",
       .choices = edge_set_names()})};
  const Fields<NewModelSpec> proj = {field(
      &NewModelSpec::proj,
      {.name = "proj",
       .unit = "P",
       .help = "number of channels into which a new resnet embeds the values of categorical images",
       .initial = NewModelOptions().proj,
       .minimum = 1})};
  append(all, Topic::kModel, only(kDiscrete, fields_in(&TrainSpec::shape, proj)));
  append(all, Topic::kModel, only(kDiscrete, fields_in(&TrainSpec::shape, residual_fields())));
  append(all, Topic::kModel, fields_in(&TrainSpec::shape, edges));
  append(all, Topic::kSampler,
         only(kChains, fields_in(&TrainSpec::sampler, sampler_fields(kDefaultSampler))));
  append(all, Topic::kTraining, objective_fields());
  append(all, Topic::kData, fields_in(&TrainSpec::data, data_fields()));
  append(all, Topic::kData, fields_in(&TrainSpec::data, split_fields()));
  return all;
}

}  // namespace

template <>
const Fields<TrainSpec>& fields_of() {
  static const Fields<TrainSpec> table = train_table();
  return table;
}

}  // namespace isinglass
