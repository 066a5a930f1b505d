// A checkpoint: the whole state of a training run in one .pt file. With the settings, it determines
// the rest of the run: data order, slots and every other random number are functions of the seed
// and the iteration.
#pragma once

#include <filesystem>
#include <string>

#include "io/error.h"
#include "io/pt/pt_file.h"
#include "io/torch.h"
#include "train/divergence.h"

namespace isinglass {

struct Checkpoint {
  PtDict settings;      // numbers and text: what may not change between the sittings of a run
  std::string program;  // source revision of the one that wrote it
  int64_t iteration = 0;
  PtDict plan;               // of the learning rate, which a resumed run may change
  int64_t planned_from = 0;  // the iteration at which the plan was made
  torch::Tensor recoveries;  // int64 [n]: the iterations that diverged
  Divergence::Memory divergence;
  int64_t skipped = 0;    // iterations so far that made no update
  double best_score = 0;  // −∞ before the first
  NamedTensors parameters, averages, first_moments, second_moments;
  torch::Tensor adam_step;        // float32 []
  torch::Tensor average_updates;  // float64 []
  torch::Tensor buffer;           // uint8 [slots, D]
  NamedTensors carried;           // by the objective beside its chains
};

// Whole or absent, as write_pt.
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);

// Throws Error naming the file and what it lacks, OtherFormat with the version that it has.
Checkpoint read_checkpoint(const std::filesystem::path& file);

// Copies tensors into those of the same name and shape, which keep their device and memory format.
// Throws Error naming a tensor that is missing, extra, misshapen or of another type.
void copy_tensors(const NamedTensors& from, const NamedTensors& to, const std::string& file);

}  // namespace isinglass
