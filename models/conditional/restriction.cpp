// Implements restrictions of states.
#include "models/conditional/restriction.h"

#include <algorithm>

#include "io/error.h"
#include "io/sha256.h"
#include "models/conditional/chain_rows.h"
#include "models/conditional/conditional.h"
#include "models/conditional/within.h"
#include "models/states.h"

namespace isinglass {
namespace {

std::optional<AllowedValues> allowed_of(const StateSpace& whole, const RestrictionOptions& options,
                                        torch::Device device) {
  if (!options.allowed.defined()) return std::nullopt;
  return AllowedValues(whole, options.allowed, options.allowed_name, device);
}

// Returns the fixed sites. Sites with one allowed value are among them.
FixedSites fixed_of(const StateSpace& whole, const std::optional<AllowedValues>& allowed,
                    const RestrictionOptions& options, torch::Device device) {
  torch::Tensor given = options.fixed;
  if (!given.defined()) given = torch::full({whole.sites}, -1, torch::kInt64);
  if (!allowed) return {whole, given, options.fixed_name, device};
  // Checks the values before they become numbers.
  const FixedSites values(whole, given, options.fixed_name, device);
  const torch::Tensor whole_numbers =
      given.is_floating_point() ? given.nan_to_num(-1).to(torch::kInt64) : given.to(torch::kInt64);
  const torch::Tensor numbers = allowed->encode(whole_numbers, options.fixed_name);
  return {allowed->space(), torch::where(allowed->single(), numbers.clamp_min(0), numbers),
          options.fixed_name, device};
}

}  // namespace

Restriction::Restriction(const StateSpace& whole, const RestrictionOptions& options,
                         torch::Device device)
    : whole_(whole),
      allowed_(allowed_of(whole, options, device)),
      fixed_(fixed_of(whole, allowed_, options, device)) {
  require_options(options.reference.defined() == options.within.has_value(),
                  "`within` needs `reference`, the state from which at most so many sites differ, "
                  "and `reference` needs `within`");
  if (!options.within) return;
  within_ = *options.within;
  reference_ =
      as_states(whole,
                options.reference.dim() == 1 ? options.reference.unsqueeze(0) : options.reference,
                options.reference_name)
          .to(device);
  const int64_t references = reference_.size(0);
  require(references == 1 || fixed_.rows() == 1 || references == fixed_.rows(),
          "there are {} rows of {}, but {} of {}", references, options.reference_name,
          fixed_.rows(), options.fixed_name);
  restrict(reference(rows()), options.reference_name);  // checks that the values are allowed
  const int64_t fixed_changes = within_ - changes_left().min().item<int64_t>();
  require(fixed_changes <= within_,
          "`within` is {}, but {} of the fixed sites already differ from {}", within_,
          fixed_changes, options.reference_name);
}

int64_t Restriction::rows() const {
  return std::max(fixed_.rows(), reference_.defined() ? reference_.size(0) : 1);
}

Restriction Restriction::of_chains(int64_t chains, int64_t first, int64_t count) const {
  Restriction own = *this;
  own.fixed_ = fixed_.of_chains(chains, first, count);
  own.reference_ = rows_of_chains(reference_, chains, first, count);
  return own;
}

std::shared_ptr<EnergyModel> Restriction::restrict_model(std::shared_ptr<EnergyModel> whole,
                                                         bool lasting) const {
  std::shared_ptr<EnergyModel> model = std::move(whole);
  if (within_ > 0) model = std::make_shared<WithinModel>(model, reference_, within_);
  if (allowed_) model = std::make_shared<AllowedModel>(model, *allowed_);
  return conditional_model(model, fixed_, lasting);
}

torch::Tensor Restriction::complete(const torch::Tensor& x) const {
  const torch::Tensor numbers = fixed_.complete(x);
  return allowed_ ? allowed_->decode(numbers) : numbers;
}

torch::Tensor Restriction::restrict(const torch::Tensor& whole, const std::string& what) const {
  if (!allowed_) return fixed_.restrict(whole);
  // The values of fixed sites do not matter, and may be others than the allowed ones.
  const int64_t rows = whole.size(0) % fixed_.rows() == 0 ? fixed_.rows() : 0;
  require(rows > 0, "{}: there are {} states, but {} rows of values are fixed", what, whole.size(0),
          fixed_.rows());
  const torch::Tensor kept =
      allowed_->decode(fixed_.values()).repeat_interleave(whole.size(0) / rows, 0);
  const torch::Tensor free = fixed_.free().repeat_interleave(whole.size(0) / rows, 0);
  const torch::Tensor numbers = allowed_->encode(torch::where(free, whole, kept), what);
  return fixed_.restrict(numbers.to(torch::kUInt8));
}

torch::Tensor Restriction::extra_energy(const torch::Tensor& x) const {
  torch::Tensor extra = fixed_.spare_energy(x.size(0));
  if (!allowed_) return extra;
  const torch::Tensor copies = allowed_->extra_energy(fixed_.complete(x));
  return extra.defined() ? extra + copies : copies;
}

torch::Tensor Restriction::reference(int64_t chains) const {
  return reference_.defined() ? rows_for_chains(reference_, chains) : reference_;
}

// Returns how many of the free sites may differ from the reference, int64 [N].
torch::Tensor Restriction::changes_left() const {
  const int64_t n = rows(), free_sites = fixed_.space().sites;
  const torch::Tensor whole = complete(torch::zeros({n, free_sites}, fixed_.values().options()));
  return within_ - ((whole != reference(n)) & fixed_.free().logical_not()).sum(1);
}

std::optional<DistanceLimit> Restriction::distance_limit() const {
  if (within_ == 0) return std::nullopt;
  const int64_t n = rows();
  const torch::Tensor reference = this->reference(n);
  const StateSpace free = fixed_.space();
  // The value of each number at every site, [D, K'].
  const torch::Tensor values = allowed_ ? allowed_->values()
                                        : torch::arange(free.categories, fixed_.sites().options())
                                              .expand({fixed_.whole().sites, free.categories});
  const torch::Tensor differs = values.unsqueeze(0) != reference.unsqueeze(2);
  const torch::Tensor sites =
      fixed_.sites().unsqueeze(2).expand({-1, -1, free.categories}).expand({n, -1, -1});
  torch::Tensor own = differs.gather(1, sites);
  if (fixed_.spare().defined()) own = own & fixed_.spare().logical_not().unsqueeze(2);
  return DistanceLimit{own.contiguous(), changes_left()};
}

std::string Restriction::sha256() const {
  NamedTensors all = {{"values", fixed_.values()}, {"free_sites", fixed_.sites()}};
  if (allowed_) all.emplace_back("allowed", allowed_->values());
  if (reference_.defined()) {
    all.emplace_back("reference", reference_);
    all.emplace_back("within", torch::full({1}, within_, torch::kInt64));
  }
  return isinglass::sha256(std::move(all));
}

}  // namespace isinglass
