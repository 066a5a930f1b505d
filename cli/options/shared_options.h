// Groups of options that several subcommands share, and what they mean to the library.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/options.h"
#include "engine/sampler.h"
#include "io/torch.h"
#include "models/registry.h"
#include "train/data/dataset.h"

namespace isinglass {

std::vector<Option> program_options();  // of every subcommand: device, threads, seed, …
std::vector<Option> model_options();    // model, weights, sites, …
Option gradient_model_option();
Option gradient_precision_option();
void set_gradient_precision(const Options& options, EnergyModel& model);
Option cuda_graph_option();
// --cuda-graph. Throws Error where steps cannot be captured.
bool cuda_graph_of(const Options& options, const EnergyModel& model, const Sampler& sampler,
                   torch::Device device);
std::vector<Option> new_model_options();  // channels, hidden: of a model without weights
// sampler (with a default, or required), radius, balancing, scan
std::vector<Option> sampler_options(std::optional<OptionValue> sampler = std::nullopt);
std::vector<Option> data_options();       // dataset, data-dir
std::vector<Option> objective_options();  // objective, batch, iters, lr, …
Option overwrite_option();

void append(std::vector<Option>& options, std::vector<Option> more);

// --device: the GPU that `auto` finds, or the CPU. Throws Error for a GPU that is not there.
torch::Device device_of(const Options& options);

// "12x34" as height and width. Throws Error, beginning with `what`, otherwise.
std::pair<int64_t, int64_t> height_and_width(const std::string& text, const std::string& what);
std::pair<int64_t, int64_t> image_of(const Options& options);  // of --image

// Whether --sampler moves continuous states.
bool continuous_sampler(const Options& options);

// --model with its parameters, on the device. `continuous`: the states of a model whose file does
// not say. Makes the paths of --factors absolute.
std::shared_ptr<EnergyModel> model_of(Options& options, torch::Device device,
                                      bool continuous = false);

// The same with the gradient of --gradient-model where it is given.
std::shared_ptr<EnergyModel> sampled_model_of(Options& options, torch::Device device);

// --sampler for the model. Sets the numbers that the sampler takes by default on that model.
std::unique_ptr<Sampler> sampler_of(Options& options, const EnergyModel& model);
// The same where there is no burn-in. Throws Error with the reason if the sampler learns in one.
std::unique_ptr<Sampler> fixed_sampler_of(Options& options, const EnergyModel& model,
                                          const std::string& reason);

// --data-dir, or its default.
std::filesystem::path data_dir_of(const Options& options);

// --dataset from --data-dir (default: $ISINGLASS_DATA, else ./data). Sets both to what was used.
Dataset dataset_of(Options& options);
// The same for continuous states.
Dataset points_of(Options& options);
// The classes of its training images.
torch::Tensor labels_of(Options& options);

// --instance, made of the images of --dataset where it is one of images.
std::shared_ptr<EnergyModel> instance_of(Options& options);

}  // namespace isinglass
