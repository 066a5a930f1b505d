// Implements residual models. residual_entry.cpp reads their files and makes new ones.
#include "models/combined/residual.h"

#include <array>
#include <cmath>

#include "io/error.h"
#include "models/identity.h"
#include "models/lattice/bernoulli.h"
#include "models/lattice/categorical.h"
#include "models/live_state.h"
#include "models/text_tensor.h"

namespace isinglass {
namespace {

// Returns the module within `root` that holds a tensor of that name, such as "net.0.weight", and
// the last part of the name. Modules that do not exist yet are created.
std::pair<torch::nn::Module*, std::string> place_of(torch::nn::Module& root,
                                                    const std::string& name) {
  torch::nn::Module* module = &root;
  size_t from = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', from)) {
    const std::string part = name.substr(from, dot - from);
    const auto children = module->named_children();
    const auto* child = children.find(part);
    module = child ? child->get()
                   : module->register_module(part, std::make_shared<torch::nn::Module>(part)).get();
    from = dot + 1;
  }
  return {module, name.substr(from)};
}

// Returns a module that holds the model's tensors as buffers, under their names. The tensors are
// the model's own, so that they move to a device together.
std::shared_ptr<torch::nn::Module> frozen(const EnergyModel& model) {
  auto shell = std::make_shared<torch::nn::Module>("base");
  for (auto& [name, tensor] : state_of(model)) {
    const auto [place, last] = place_of(*shell, name);
    place->register_buffer(last, tensor);
  }
  return shell;
}

torch::Tensor log_z_tensor(const std::optional<KnownLogZ>& log_z) {
  std::vector<double> known;  // A file may not hold NaN, so that an unknown error is left out.
  if (log_z) known.push_back(log_z->value);
  if (log_z && !std::isnan(log_z->standard_error)) known.push_back(log_z->standard_error);
  return torch::tensor(known, torch::kFloat64);
}

}  // namespace

KnownLogZ known_log_z(const torch::Tensor& stored) {
  const torch::Tensor own = stored.cpu();
  return {own[0].item<double>(), own.numel() > 1 ? own[1].item<double>() : std::nan("")};
}

std::optional<KnownLogZ> exact_log_z(const EnergyModel& model) {
  const bool binary = dynamic_cast<const BernoulliModel*>(&model) != nullptr;
  if (!binary && !dynamic_cast<const CategoricalModel*>(&model)) return std::nullopt;
  const torch::Tensor theta = model.named_buffers()["theta"].to(torch::kFloat64);
  const torch::Tensor sites = binary ? torch::softplus(-theta) : torch::logsumexp(-theta, 1);
  return KnownLogZ{sites.sum().item<double>(), 0};
}

ResidualModel::ResidualModel(std::shared_ptr<EnergyModel> base,
                             std::shared_ptr<EnergyModel> network, const ResidualOptions& options)
    : base_(std::move(base)),
      network_(std::move(network)),
      // A user's function registers its own tensors and decides itself which of them are trained.
      trains_base_(options.train_base || dynamic_cast<const OwnFunction*>(base_.get())) {
  const StateSpace below = base_->space(), above = network_->space();
  require_options(below.sites == above.sites, "the base {} has {} sites, and the network {} has {}",
                  base_->kind_name(), below.sites, network_->kind_name(), above.sites);
  require_options(below == above,
                  "the states of the base {} differ in kind from those of the network {}",
                  base_->kind_name(), network_->kind_name());
  require_options(!network_->base_mean().defined(),
                  "the network {} has a base of independent sites of its own, but a residual "
                  "model has one base",
                  network_->kind_name());
  require_option(options.bound >= 0 && std::isfinite(options.bound), "bound", options.bound,
                 "it must be a finite number of nats above 0, or 0 for no bound");
  if (dynamic_cast<const OwnFunction*>(network_.get())) {
    register_module("network", network_);
  } else {
    for (const auto& child : network_->named_children()) {
      register_module(child.key(), child.value());
    }
    for (const auto& own : network_->named_parameters(/*recurse=*/false)) {
      register_parameter(own.key(), own.value());
    }
    for (const auto& own : network_->named_buffers(/*recurse=*/false)) {
      register_buffer(own.key(), own.value());
    }
  }
  const std::string hash =
      options.base_sha256.empty() ? parameters_sha256(*base_) : options.base_sha256;
  register_module(
      "base", trains_base_ ? std::static_pointer_cast<torch::nn::Module>(base_) : frozen(*base_));
  const auto about = register_module("residual", std::make_shared<torch::nn::Module>("residual"));
  about->register_buffer("kinds", bytes_of(network_->kind_name() + " " + base_->kind_name()));
  stored_bound_ = about->register_buffer("bound", torch::full({}, options.bound, torch::kFloat64));
  stored_log_z_ = about->register_buffer(
      "log_z", log_z_tensor(options.log_z ? options.log_z : exact_log_z(*base_)));
  about->register_buffer("base_sha256", bytes_of(hash));
}

FlopCounts ResidualModel::flops() const {
  const FlopCounts below = base_->flops(), above = network_->flops();
  return {below.energy + above.energy, below.state_gradient + above.state_gradient,
          below.parameter_gradient + above.parameter_gradient};
}

bool ResidualModel::reads_parameters_in_place() const {
  return network_->reads_parameters_in_place() &&
         (!trains_base_ || base_->reads_parameters_in_place());
}

double ResidualModel::bound() {
  return bound_.get(std::array{stored_bound_}, [&] { return stored_bound_.item<double>(); });
}

std::optional<KnownLogZ> ResidualModel::base_log_z() const {
  if (stored_log_z_.numel() == 0) return std::nullopt;
  return known_log_z(stored_log_z_);
}

torch::Tensor ResidualModel::base_energy(const torch::Tensor& x) {
  const torch::AutoGradMode mode(torch::GradMode::is_enabled() &&
                                 (trains_base_ || x.requires_grad()));
  return base_->energy(x).to(torch::kFloat64);
}

torch::Tensor ResidualModel::correction(const torch::Tensor& x) {
  return bounded(network_->energy(x).to(torch::kFloat64));
}

torch::Tensor ResidualModel::bounded(const torch::Tensor& f) {
  const double c = bound();
  return c > 0 ? c * torch::tanh(f / c) : f;
}

torch::Tensor ResidualModel::energy(const torch::Tensor& x) {
  return base_energy(x) + correction(x);
}

Evaluation ResidualModel::base_in(const Evaluation& known) const {
  Evaluation base;
  if (known.cache.empty()) return base;
  base.energy = known.cache.front();
  base.cache.assign(known.cache.begin() + 1, known.cache.end());
  return base;
}

void ResidualModel::add_network(const torch::Tensor& x, bool gradient, const Evaluation& base,
                                Evaluation& out) {
  Evaluation own;
  if (gradient) {
    network_->evaluate(x, own);
  } else {
    network_->evaluate_energy(x, own);
  }
  const torch::NoGradGuard no_grad;
  const double c = bound();
  torch::Tensor g = own.energy;
  if (c > 0) {
    const torch::Tensor t = torch::tanh(g / c);
    g = c * t;
    if (gradient) {
      std::vector<int64_t> rows(own.gradient.dim(), 1);
      rows[0] = x.size(0);
      own.gradient = own.gradient * (1 - t * t).to(torch::kFloat32).view(rows);
    }
  }
  store(out.energy, base.energy + g);
  if (gradient) out.gradient = own.gradient + base.gradient;
  out.cache = {base.energy};
  out.cache.insert(out.cache.end(), base.cache.begin(), base.cache.end());
}

void ResidualModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  Evaluation base = base_in(out);
  base_->evaluate_energy(x, base);
  add_network(x, /*gradient=*/false, base, out);
}

void ResidualModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  Evaluation base = base_in(out);
  base_->evaluate(x, base);
  add_network(x, /*gradient=*/true, base, out);
}

void ResidualModel::evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                                   const torch::Tensor& y, bool gradient, Evaluation& out) {
  Evaluation base = base_in(out);
  base_->evaluate_moved(x, base_in(at_x), y, gradient, base);
  add_network(y, gradient, base, out);
}

void ResidualModel::evaluate_on_base(const torch::Tensor& y, bool gradient, Evaluation& out) {
  Evaluation base = base_in(out);
  if (gradient) base_->evaluate_moved(y, base_in(out), y, /*gradient=*/true, base);
  add_network(y, gradient, base, out);
}

}  // namespace isinglass
