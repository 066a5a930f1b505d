// The options of training: objectives, chains, optimiser and checkpoints; see shared_options.h.
#include "cli/options/shared_options.h"
#include "train/likelihood.h"
#include "train/objectives/dsm.h"
#include "train/trainer.h"

namespace isinglass {
namespace {

Option number(const char* name, ValueType type, const char* unit, const char* help,
              OptionValue initial, double minimum) {
  return {.name = name,
          .type = type,
          .unit = unit,
          .help = help,
          .initial = initial,
          .minimum = minimum};
}

}  // namespace

std::vector<Option> objective_options() {
  const PcdOptions pcd;
  const TrainOptions train;
  constexpr ValueType kInteger = ValueType::kInteger, kReal = ValueType::kReal;
  return {
      {.name = "base",
       .type = ValueType::kSwitch,
       .help = "build on independent Bernoulli sites with the data's mean",
       .initial = true},
      {.name = "objective",
       .unit = "NAME",
       .help =
           "pcd: persistent contrastive divergence on binary images; cd: its chains start at the "
           "batch, and are Gibbs sweeps of an rbm unless others are given; dsm: denoising score "
           "matching of continuous states on points [N, D] or grey levels from 0 to 1; classify: "
           "the data set's classes, by cross-entropy on grey levels",
       .initial = "pcd",
       .choices = {"pcd", "cd", "dsm", "classify"}},
      {.name = "noise",
       .type = kReal,
       .unit = "SIGMA",
       .help = "standard deviation of the noise of score matching",
       .initial = DsmOptions().noise,
       .minimum = 0,
       .above_minimum = true},
      number("steps-per-iter", kInteger, "N", "sampler steps an iteration", pcd.steps, 1),
      number("buffer", kInteger, "N", "persistent chains", train.buffer, 1),
      number("batch", kInteger, "N", "images, and chains, an iteration", pcd.batch, 1),
      {.name = "iters",
       .type = kInteger,
       .unit = "N",
       .help = "iterations",
       .initial = train.iterations,
       .minimum = 1,
       .adjustable = true},
      {.name = "lr",
       .type = kReal,
       .unit = "RATE",
       .help = "learning rate of Adam after the warm-up",
       .initial = train.learning_rate,
       .minimum = 0,
       .above_minimum = true},
      number("warmup", kInteger, "N", "iterations in which the learning rate rises", train.warmup,
             0),
      {.name = "lr-schedule",
       .unit = "NAME",
       .help = "how the learning rate falls from the warm-up, or from where a run is resumed with "
               "another length, to --iters",
       .initial = name_of(train.schedule),
       .choices = rate_schedules(),
       .adjustable = true},
      {.name = "lr-end",
       .type = kReal,
       .unit = "RATE",
       .help = "learning rate at --iters (default: 0, or --lr if it is constant)",
       .minimum = 0,
       .adjustable = true},
      {.name = "clip",
       .type = kReal,
       .unit = "X",
       .help = "largest norm of the gradient; a larger one is scaled to it (default: none)",
       .minimum = 0,
       .above_minimum = true},
      {.name = "ema",
       .type = kReal,
       .unit = "DECAY",
       .help = "decay of the averaged parameters",
       .initial = train.ema,
       .minimum = 0,
       .maximum = 1},
      number("l2", kReal, "X", "weight of the squared energies", pcd.l2, 0),
      number("p-control", kReal, "X", "weight of the squared gradient at the data", pcd.p_control,
             0),
      {.name = "reinit",
       .type = kReal,
       .unit = "P",
       .help = "probability that a drawn chain restarts",
       .initial = pcd.reinit,
       .minimum = 0,
       .maximum = 1},
      {.name = "checkpoint-every",
       .type = kInteger,
       .unit = "N",
       .help = "iterations between checkpoints",
       .initial = train.checkpoint_every,
       .minimum = 1,
       .adjustable = true},
      {.name = "recover",
       .type = kInteger,
       .unit = "N",
       .help = "how often, within ten checkpoints, a run that diverges goes back and halves its "
               "learning rate; 0: it ends at once",
       .initial = train.recover,
       .minimum = 0,
       .adjustable = true},
      {.name = "evaluate-every",
       .type = kInteger,
       .unit = "N",
       .help = "iterations between quick validation likelihoods, 0 for never; the best of those "
               "whose annealing weights suffice is best.pt",
       .initial = train.evaluate_every,
       .minimum = 0,
       .adjustable = true},
      number("evaluate-steps", kInteger, "N", "temperatures of a quick validation likelihood",
             ValidationOptions().temperatures, 1),
  };
}

}  // namespace isinglass
