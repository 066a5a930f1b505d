// How a training run begins, is saved and goes on; see trainer.h.
#include <zlib.h>

#include "io/error.h"
#include "io/picture.h"
#include "train/trainer.h"

namespace isinglass {
namespace {

constexpr int64_t kPictures = 100, kColumns = 10;

// Identifies the training images.
int64_t checksum(const torch::Tensor& pixels) {
  const torch::Tensor bytes = pixels.cpu().contiguous();
  return static_cast<int64_t>(crc32_z(0, bytes.data_ptr<uint8_t>(), bytes.nbytes()));
}

}  // namespace

void Trainer::start(const std::filesystem::path& directory) {
  directory_ = RunDirectory::create(directory);
  const int64_t count = std::min(kPictures, options_.pcd.batch);
  const torch::Tensor images = batches_.images(1).narrow(0, 0, count);
  write_picture_grid(directory_->file("data.png"),
                     batches_.pixels().index_select(0, images.to(batches_.pixels().device())),
                     height_, width_, kColumns, 255 / (static_cast<int>(batches_.levels()) - 1));
  save();
}

void Trainer::resume(const std::filesystem::path& directory) {
  directory_ = RunDirectory::open(directory);
  const auto [file, checkpoint] = newest_readable();
  restore(checkpoint, file.string());
  seconds_ = directory_->cut_metrics(iteration_);
  export_weights();  // a killed process may not have come so far
  log(fmt::format("resumed at iteration {}", iteration_));
}

std::pair<std::filesystem::path, Checkpoint> Trainer::newest_readable() {
  const std::vector<std::filesystem::path> files = directory_->checkpoints();
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    try {
      return {*file, read_checkpoint(*file)};
    } catch (const Error& error) {
      directory_->set_aside(*file);
      log(fmt::format("set aside a checkpoint that cannot be read: {}", error.what()));
    }
  }
  fail("no checkpoint of {} can be read; log.txt there says why", directory_->file("").string());
}

void Trainer::save() {
  const std::filesystem::path file = directory_->checkpoint_file(iteration_);
  write_checkpoint(file, checkpoint());
  saved_ = iteration_;
  directory_->remove_old_checkpoints();
  export_weights();
  const int64_t count = std::min(kPictures, buffer_.size());
  write_picture_grid(directory_->samples_file(iteration_), buffer_.states().narrow(0, 0, count),
                     height_, width_, kColumns);
  log(fmt::format("iteration {}: saved {}", iteration_, file.string()));
  if (hooks_.observer) hooks_.observer->on_checkpoint(file);
}

void Trainer::export_weights() const {
  write_named_tensors(directory_->file("weights.pt"), state_dict(parameters_));
  write_named_tensors(directory_->file("ema.pt"), state_dict(ema_.averages()));
}

NamedTensors Trainer::state_dict(const std::vector<torch::Tensor>& parameters) const {
  NamedTensors dict = named(parameters);
  for (const auto& buffer : model_->named_buffers())
    dict.emplace_back(buffer.key(), buffer.value());
  return dict;
}

NamedTensors Trainer::named(const std::vector<torch::Tensor>& of_parameters) const {
  const std::vector<std::string> names = model_->named_parameters().keys();
  NamedTensors result;
  for (size_t i = 0; i < names.size(); ++i) result.emplace_back(names[i], of_parameters[i]);
  return result;
}

PtDict Trainer::settings() const {
  const PcdOptions& pcd = options_.pcd;
  return {{"model", {model_->kind_name()}},
          {"seed", {static_cast<int64_t>(pcd.seed)}},
          {"batch", {pcd.batch}},
          {"steps", {pcd.steps}},
          {"buffer", {options_.buffer}},
          {"reinit", {pcd.reinit}},
          {"l2", {pcd.l2}},
          {"p_control", {pcd.p_control}},
          {"learning_rate", {options_.learning_rate}},
          {"warmup", {options_.warmup}},
          {"ema", {options_.ema}},
          {"data_images", {batches_.pixels().size(0)}},
          {"data_sites", {batches_.pixels().size(1)}},
          {"data_levels", {batches_.levels()}},
          {"data_crc32", {checksum(batches_.pixels())}}};
}

Checkpoint Trainer::checkpoint() const {
  return {.settings = settings(),
          .iteration = iteration_,
          .total_steps = iteration_ * options_.pcd.steps,
          .suspect_iterations = suspect_iterations_,
          .best_score = best_score_,
          .parameters = state_dict(parameters_),
          .averages = named(ema_.averages()),
          .first_moments = named(adam_.first_moments()),
          .second_moments = named(adam_.second_moments()),
          .adam_step = adam_.step_number(),
          .buffer = buffer_.states()};
}

void Trainer::restore(const Checkpoint& saved, const std::string& file) {
  require_same_settings(saved.settings, settings(), file);
  const Checkpoint own = checkpoint();  // its tensors are the trainer's own
  copy_tensors(saved.parameters, own.parameters, file);
  copy_tensors(saved.averages, own.averages, file);
  copy_tensors(saved.first_moments, own.first_moments, file);
  copy_tensors(saved.second_moments, own.second_moments, file);
  copy_tensors({{"adam_step", saved.adam_step}, {"buffer", saved.buffer}},
               {{"adam_step", own.adam_step}, {"buffer", own.buffer}}, file);
  iteration_ = saved_ = saved.iteration;
  suspect_iterations_ = saved.suspect_iterations;
  best_score_ = saved.best_score;
}

}  // namespace isinglass
