// Evaluates how likely the missing pixels x_A of images are given the others x_B,
//
//   log π(x_A | x_B) = −U(x_A, x_B) − log Z(x_B),   Z(x_B) = Σ_{x_A} exp(−U(x_A, x_B)),
//
// with an evaluation of the conditional model (models/conditional/conditional.h) for every image.
// The images done so far are in a file, from which a later evaluation continues.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "lab/evaluation/likelihood_evaluation.h"
#include "lab/run/inpainting.h"

namespace isinglass {

class ConditionalEvaluation {
 public:
  // spec.inpaint is not empty. A given model or given data replace those of the spec. Throws Error
  // for what does not fit together.
  ConditionalEvaluation(EvaluateSpec spec, Context context, Given given = {});

  const EvaluateSpec& spec() const { return spec_; }  // with all defaults filled in

  // Evaluates the remaining images, or until the context stops it, and returns whether it is
  // finished. Files: conditional.json, inpainted.png (lab/run/inpainting.h) with its numbers in
  // inpainted.pt beside it, and the checkpoint of the image at hand. If `resume`, continues from
  // them; throws Error if they belong to another evaluation.
  bool run(const std::filesystem::path& results, const std::filesystem::path& checkpoint,
           bool resume, const std::function<void(int64_t images)>& on_image = {});

  int64_t images() const { return inpainting_->images.size(0); }
  int64_t done() const { return static_cast<int64_t>(found_.size()); }
  // Returns the contents of conditional.json: for every image the bounds of log π(x_A | x_B) in
  // nats and the verdict; means over images with their standard errors; how many verdicts are
  // closed.
  nlohmann::ordered_json json() const;
  std::string text() const;  // Returns lines for the terminal.

 private:
  std::unique_ptr<LikelihoodEvaluation> evaluation_of(int64_t image) const;
  nlohmann::ordered_json identity() const;
  void restore(const std::filesystem::path& results);
  void add_picture(const LikelihoodEvaluation& evaluation);

  EvaluateSpec spec_;
  Context context_;
  std::shared_ptr<EnergyModel> model_;
  std::optional<Dataset> data_;
  std::optional<Inpainting> inpainting_;
  std::string inexact_;  // Says why the model's energies are not a function of the state alone.
  torch::Tensor mean_;   // of the missing pixels, where annealing begins; undefined: the model's
  std::vector<nlohmann::ordered_json> found_;
  torch::Tensor pictures_;  // Inpainting::rows() of the images done so far
};

}  // namespace isinglass
