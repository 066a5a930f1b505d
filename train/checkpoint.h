// A checkpoint: the whole state of a training run in one .pt file. Together with the settings it
// determines the rest of the run, because data order, slots and all other random numbers are
// functions of the seed and the iteration.
#pragma once

#include <filesystem>
#include <string>

#include "io/error.h"
#include "io/pt/pt_file.h"
#include "io/torch.h"
#include "train/divergence.h"

namespace isinglass {

struct Checkpoint {
  PtDict settings;      // numbers and text that a resumed run must not change
  std::string program;  // source revision of the program that wrote it
  int64_t iteration = 0;
  PtDict plan;               // plan of the learning rate; a resumed run may change it
  int64_t planned_from = 0;  // iteration at which the plan was made
  torch::Tensor recoveries;  // int64 [n]: the iterations that diverged
  Divergence::Memory divergence;
  int64_t skipped = 0;    // number of iterations so far that made no update
  double best_score = 0;  // −∞ before the first score
  NamedTensors parameters, averages, first_moments, second_moments;
  torch::Tensor adam_step;        // float32 []
  torch::Tensor average_updates;  // float64 []
  torch::Tensor buffer;           // uint8 [slots, D]
  NamedTensors carried;           // the objective's state, without its chains
  // The identity of a user's functions (models/identity.h); empty if the model holds none.
  PtDict functions;
};

// Writes a checkpoint. Like write_pt, it leaves either the whole file or none.
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);

// Reads a checkpoint. Throws Error, naming the file and what it lacks, if it is not a checkpoint,
// and OtherFormat, naming the version that it has, if its format is another one.
Checkpoint read_checkpoint(const std::filesystem::path& file);

// Copies tensors into the tensors of the same name and shape, which keep their device and memory
// format. Throws Error, naming the tensor, if one is missing, extra, or of another shape or type.
void copy_tensors(const NamedTensors& from, const NamedTensors& to, const std::string& file);

}  // namespace isinglass
