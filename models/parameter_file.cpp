// Implements the strict reading of parameter files.
#include "models/parameter_file.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "io/error.h"
#include "io/pt/state_dict.h"
#include "models/single_precision.h"

namespace isinglass {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(size < 0 ? "any" : std::to_string(size));
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

constexpr int64_t kMostExact = int64_t{1} << 53;  // float64 holds every integer up to this size

const torch::Tensor& tensor_of(const NamedTensors& tensors, const std::string& key,
                               const std::string& source) {
  const auto found = find_tensor(tensors, key);
  require(found != tensors.end(), "{}: tensor '{}' is missing; it holds {}", source, key,
          names_text(tensors));
  return found->second;
}

}  // namespace

NamedTensors read_parameters(const std::filesystem::path& file) {
  return parameters_in(read_pt(file), file.string());
}

ParameterReader::ParameterReader(const std::filesystem::path& file)
    : ParameterReader(file.string(), read_parameters(file)) {}

ParameterReader::ParameterReader(std::string source, NamedTensors tensors)
    : source_(std::move(source)), tensors_(unwrapped(std::move(tensors))) {}

bool ParameterReader::has(const std::string& key) const {
  return find_tensor(tensors_, key) != tensors_.end();
}

int64_t ParameterReader::rank(const std::string& key) const {
  return tensor_of(tensors_, key, source_).dim();
}

torch::Tensor ParameterReader::peek(const std::string& key,
                                    const std::vector<int64_t>& shape) const {
  const torch::Tensor t = tensor_of(tensors_, key, source_);
  bool fits = t.dim() == static_cast<int64_t>(shape.size());
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = shape[i] < 0 || t.size(i) == shape[i];
  require(fits, "{}: tensor '{}' has shape {}; it must be {}", source_, key,
          shape_text(t.sizes().vec()), shape_text(shape));
  return t;
}

torch::Tensor ParameterReader::take(const std::string& key, const std::vector<int64_t>& shape) {
  const torch::Tensor t = peek(key, shape);
  tensors_.erase(find_tensor(tensors_, key));
  return t;
}

torch::Tensor ParameterReader::real(const std::string& key, const std::vector<int64_t>& shape) {
  const torch::Tensor t = take(key, shape);
  require(!t.is_complex(), "{}: tensor '{}' holds complex numbers; it must hold real ones", source_,
          key);
  const bool keeps = t.scalar_type() == torch::kFloat64 || !t.is_floating_point();
  const torch::Tensor result = t.to(keeps ? torch::kFloat64 : torch::kFloat32).contiguous();
  require(torch::isfinite(result).all().item<bool>(),
          "{}: tensor '{}' holds a value that is not finite", source_, key);
  require(torch::isfinite(result.to(torch::kFloat32)).all().item<bool>(),
          "{}: tensor '{}' holds a value that is not finite in float32, the type of gradients",
          source_, key);
  if (!t.is_floating_point() && t.numel() > 0) {
    const torch::Tensor whole = t.to(torch::kInt64);
    require(
        whole.min().item<int64_t>() >= -kMostExact && whole.max().item<int64_t>() <= kMostExact,
        "{}: tensor '{}' holds whole numbers beyond {}, which float64 does not represent exactly",
        source_, key, kMostExact);
  }
  return result;
}

torch::Tensor ParameterReader::whole(const std::string& key, const std::vector<int64_t>& shape) {
  const torch::Tensor t = take(key, shape);
  require(at::isIntegralType(t.scalar_type(), /*includeBool=*/false),
          "{}: tensor '{}' must hold whole numbers, as int64", source_, key);
  return t.to(torch::kInt64).contiguous();
}

void ParameterReader::finish() const {
  if (!tensors_.empty()) fail("{}: unexpected tensor '{}'", source_, tensors_.front().first);
}

torch::Tensor read_edges(ParameterReader& reader, int64_t sites) {
  const torch::Tensor edges = reader.whole("edges", {-1, 2});
  if (edges.numel() == 0) return edges;
  const bool inside = edges.min().item<int64_t>() >= 0 && edges.max().item<int64_t>() < sites;
  require(inside, "{}: tensor 'edges' names a site outside 0 to {}", reader.source(), sites - 1);
  require((edges.select(1, 0) != edges.select(1, 1)).all().item<bool>(),
          "{}: tensor 'edges' joins a site with itself", reader.source());
  return edges;
}

void check_categories(const ParameterReader& reader, const std::string& key,
                      const torch::Tensor& tensor) {
  require(tensor.size(1) >= 2 && tensor.size(1) <= kMostCategories,
          "{}: tensor '{}' has {} categories; 2 to {} are allowed", reader.source(), key,
          tensor.size(1), kMostCategories);
}

void load_state(torch::nn::Module& module, ParameterReader& reader) {
  torch::NoGradGuard no_grad;
  SingleReader singles(reader);
  const auto floating = [&](const std::string& key, const torch::Tensor& own) {
    const auto shape = own.sizes().vec();
    return own.scalar_type() == torch::kFloat64 ? reader.real(key, shape)
                                                : singles.take(key, shape);
  };
  for (auto& entry : module.named_parameters()) {
    entry.value().copy_(floating(entry.key(), entry.value()));
  }
  for (auto& entry : module.named_buffers()) {
    torch::Tensor& own = entry.value();
    own.copy_(own.is_floating_point() ? floating(entry.key(), own)
                                      : reader.whole(entry.key(), own.sizes().vec()));
  }
  reader.finish();
  singles.warn();
}

}  // namespace isinglass
