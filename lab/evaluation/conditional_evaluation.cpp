// Implements the evaluation of missing pixels.
#include "lab/evaluation/conditional_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "io/pt/pt_file.h"
#include "io/sha256.h"
#include "lab/identity.h"
#include "lab/run/restricted.h"
#include "lab/run/summary.h"
#include "models/combined/shifted.h"
#include "models/identity.h"

namespace isinglass {

using Json = nlohmann::ordered_json;

namespace {

const std::vector<std::string>& bound_names() {
  static const std::vector<std::string> names = {"forward", "reverse", "bidirectional"};
  return names;
}

constexpr const char* kPictureNumbers = "inpainted.pt";

// Returns the mean of a bound over images and its standard error; null without the bound.
Json mean_of(const std::vector<Json>& images, const std::string& bound) {
  double sum = 0, squares = 0;
  const double n = static_cast<double>(images.size());
  for (const Json& image : images) {
    const Json& value = image["log_likelihood"][bound];
    if (!value.is_number()) return {};
    sum += value.get<double>();
    squares += value.get<double>() * value.get<double>();
  }
  const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
  const double error = n > 1 ? std::sqrt(variance / (n - 1)) : std::nan("");
  return {{"mean", mean}, {"standard_error", json_number(error)}};
}

int64_t closed(const std::vector<Json>& images) {
  return std::count_if(images.begin(), images.end(),
                       [](const Json& image) { return image["verdict"] == "closed"; });
}

}  // namespace

ConditionalEvaluation::ConditionalEvaluation(EvaluateSpec spec, Context context, Given given)
    : spec_(std::move(spec)),
      context_(std::move(context)),
      data_(std::move(given.data)),
      inexact_(given.inexact) {
  require_options(data_ || !spec_.data.name.empty(), "`inpaint` needs `dataset`");
  require_options(
      !restriction_options(spec_.restriction, given).given(),
      "`inpaint` says which pixels are given; `fixed`, `allowed` and `within` exclude it");
  spec_.data = resolved(spec_.data);
  if (!data_) data_ = images_of(spec_.data);
  spec_.inpaint = absolute_mask(spec_.inpaint);
  take_image_size(spec_, &*data_);
  model_ = given.model ? given.model : evaluated_model(spec_, context_.device);
  inpainting_ =
      inpainting_of(*data_, model_->space(), spec_.inpaint, spec_.inpaint_images, spec_.seed);
  spec_.inpaint_images = inpainting_->images.size(0);
  if (given.mean.defined()) {
    mean_ = given.mean.cpu().masked_select(inpainting_->missing);
  } else if (model_->space().kind == StateKind::kBinary && !model_->base_mean().defined()) {
    mean_ = clamped_mean(*data_).masked_select(inpainting_->missing);
  }
  // The evaluation of an image resolves the rest.
  EvaluateSpec all = evaluation_of(0)->spec();
  all.data = spec_.data;
  all.inpaint = spec_.inpaint;
  all.inpaint_images = spec_.inpaint_images;
  spec_ = std::move(all);
}

// Constants of the energy cancel between U and log Z, so that an RBM without the constant serves,
// for which block Gibbs sweeps anneal.
std::unique_ptr<LikelihoodEvaluation> ConditionalEvaluation::evaluation_of(int64_t image) const {
  EvaluateSpec spec = spec_;
  spec.data = {};
  spec.inpaint.clear();
  spec.inpaint_images.reset();
  spec.seed = spec_.seed + image;
  const Restriction given(model_->space(),
                          {.fixed = inpainting_->fixed_values()[image], .fixed_name = data_->name},
                          context_.device);
  std::shared_ptr<EnergyModel> model = restricted(model_, given, context_.device);
  if (const auto* shifted = dynamic_cast<const ShiftedModel*>(model.get())) {
    model = shifted->unshifted();
  }
  return std::make_unique<LikelihoodEvaluation>(
      spec, context_, Given{.model = std::move(model), .mean = mean_, .inexact = inexact_});
}

Json ConditionalEvaluation::identity() const {
  return {{"data_sha256", data_sha256(*data_)},
          {"missing_sha256", sha256({{"missing", inpainting_->missing}})},
          {"parameters_sha256", parameters_sha256(*model_)},
          {"chains", spec_.chains},
          {"steps", spec_.temperatures},
          {"seed", spec_.seed},
          {"sampler", spec_.sampler.name},
          {"method", spec_.method},
          {"images", *spec_.inpaint_images}};
}

void ConditionalEvaluation::restore(const std::filesystem::path& results) {
  const Json saved = Json::parse(read_file(results), nullptr, /*allow_exceptions=*/false);
  require(saved.is_object() && saved.contains("images") && saved["images"].is_array() &&
              saved.contains("identity"),
          "{} is not the file of an evaluation of missing pixels", results.string());
  const Json own = identity();
  for (const auto& [key, value] : own.items()) {
    require(saved["identity"].contains(key) && saved["identity"][key] == value,
            "{} belongs to another evaluation: {} differs", results.string(), key);
  }
  found_ = saved["images"].get<std::vector<Json>>();
  require(done() <= images(), "{} is damaged", results.string());
  const std::filesystem::path numbers = results.parent_path() / kPictureNumbers;
  pictures_ = read_tensor(numbers);
  require(pictures_.dim() == 3 && pictures_.size(0) >= done(), "{} is damaged", numbers.string());
  pictures_ = pictures_.slice(0, 0, done());
}

// Adds the row of the next image, whose draws are the last states of annealed chains by their
// weights, or those of tempering at beta = 1.
void ConditionalEvaluation::add_picture(const LikelihoodEvaluation& evaluation) {
  torch::Tensor x, log_weights;
  for (const auto& [name, value] : evaluation.chains()) {
    if (name == "x") x = std::get<torch::Tensor>(value.value).cpu();
    if (name == "log_weights") log_weights = std::get<torch::Tensor>(value.value).cpu();
  }
  x = x.reshape({-1, x.size(-1)});
  const int64_t chains = x.size(0), shown = std::min(chains, Inpainting::kDrawn);
  const torch::Tensor weights = log_weights.defined()
                                    ? torch::softmax(log_weights, 0)
                                    : torch::full({chains}, 1.0 / chains, torch::kFloat64);
  // Systematic resampling: chains at equal distances on the scale of the sums of weights.
  const torch::Tensor at = (torch::arange(shown, torch::kFloat64) + 0.5) / shown;
  const torch::Tensor chosen = torch::searchsorted(weights.cumsum(0), at).clamp_max(chains - 1);
  const torch::Tensor image = inpainting_->images[done() - 1], &missing = inpainting_->missing;
  const auto whole = [&](const torch::Tensor& part) {
    torch::Tensor full = image.to(torch::kFloat32).expand({part.size(0), -1}).clone();
    full.index_put_({torch::indexing::Slice(), missing}, part.to(torch::kFloat32));
    return full;
  };
  const torch::Tensor mean = weights.unsqueeze(0).mm(x.to(torch::kFloat64));
  const torch::Tensor row =
      inpainting_->rows(done() - 1, whole(x.index_select(0, chosen)).unsqueeze(0), whole(mean));
  pictures_ = pictures_.defined() ? torch::cat({pictures_, row}) : row;
}

bool ConditionalEvaluation::run(const std::filesystem::path& results,
                                const std::filesystem::path& checkpoint, bool resume,
                                const std::function<void(int64_t images)>& on_image) {
  const Ranks& ranks = *context_.ranks;
  if (resume && std::filesystem::exists(results)) restore(results);
  bool resumes = resume && std::filesystem::exists(checkpoint);
  while (done() < images()) {
    const auto evaluation = evaluation_of(done());
    if (resumes) evaluation->restore(checkpoint);
    resumes = false;
    if (!evaluation->run(checkpoint)) return false;
    const torch::Tensor x =
        inpainting_->images[done()].masked_select(inpainting_->missing).unsqueeze(0);
    const LogZBounds log_z = evaluation->log_z();
    const double u = evaluation->energies_of(x.to(context_.device)).item<double>();
    const auto nats = [&](const std::optional<double>& z) { return z ? Json(-u - *z) : Json(); };
    const BracketVerdict& verdict = evaluation->verdict();
    const std::optional<ErrorInterval> range = log_z.interval();
    found_.push_back({{"log_likelihood",
                       {{"forward", nats(log_z.forward)},
                        {"reverse", nats(log_z.reverse)},
                        {"bidirectional", nats(log_z.both)}}},
                      {"log_likelihood_interval",
                       range ? Json::array({-u - range->high, -u - range->low}) : Json()},
                      {"verdict", verdict.word()},
                      {"reason", verdict.closed ? Json() : Json(verdict.reason)}});
    add_picture(*evaluation);
    if (ranks.is_rank0()) {
      write_pt(results.parent_path() / kPictureNumbers, PtValue{pictures_});
      write_file(results.parent_path() / "inpainted.png", inpainting_->png(pictures_));
      write_file(results, text_of(json(), 2) + "\n");
      std::filesystem::remove(checkpoint);
    }
    ranks.any(false);  // waits for rank 0
    if (on_image) on_image(done());
  }
  return true;
}

Json ConditionalEvaluation::json() const {
  Json means = Json::object();
  for (const std::string& bound : bound_names()) means[bound] = mean_of(found_, bound);
  Json json = {{"model", spec_.model.name},
               {"sampler", spec_.sampler.name},
               {"dataset", data_->name},
               {"missing", inpainting_->missing.sum().item<int64_t>()},
               {"sites", inpainting_->missing.numel()},
               {"log_likelihood", means},
               {"closed", closed(found_)},
               {"done", done()},
               {"images", found_},
               {"identity", identity()},
               {"version", kProgramVersion},
               {"revision", program_revision()}};
  if (!inexact_.empty()) json["inexact"] = inexact_;
  return json;
}

std::string ConditionalEvaluation::text() const {
  const Json all = json();
  std::string text = fmt::format(
      "log-likelihood of {} missing pixels of {} given the other {}, mean over {} images\n",
      all["missing"].get<int64_t>(), all["sites"].get<int64_t>(),
      all["sites"].get<int64_t>() - all["missing"].get<int64_t>(), done());
  for (const std::string& bound : bound_names()) {
    const Json& mean = all["log_likelihood"][bound];
    if (!mean.is_object()) continue;
    const Json& error = mean["standard_error"];
    text += fmt::format("  {:<13} {:.2f} nats, standard error over images {}\n", bound,
                        mean["mean"].get<double>(),
                        error.is_number() && !std::isnan(error.get<double>())
                            ? fmt::format("{:.2f}", error.get<double>())
                            : "unknown");
  }
  text += fmt::format("  {} of {} verdicts are closed\n", closed(found_), done());
  for (size_t i = 0; i < found_.size(); ++i) {
    if (found_[i]["verdict"] == "closed") continue;
    text += fmt::format("  image {} is open: {}\n", i, found_[i]["reason"].get<std::string>());
  }
  return text;
}

}  // namespace isinglass
