// Implements models of allowed values.
#include "models/conditional/allowed_values.h"

#include <fmt/ranges.h>

#include "io/error.h"

namespace isinglass {

AllowedValues::AllowedValues(const StateSpace& whole, const torch::Tensor& allowed,
                             const std::string& what, torch::Device device)
    : whole_(whole) {
  require(whole.discrete() && whole.kind != StateKind::kPermutation,
          "{}: values can be allowed for discrete sites only", what);
  const int64_t sites = whole.sites, values = whole.categories;
  require(
      allowed.dim() == 2 && allowed.size(0) == sites && allowed.size(1) == values,
      "{}: the shape is [{}], but [{}, {}] is needed, a row for each site and a column for each "
      "value",
      what, fmt::join(allowed.sizes().vec(), ", "), sites, values);
  require(!allowed.detach().isnan().any().item<bool>(),
          "{}: the table holds NaN; 0 forbids a value, and any other number allows it", what);
  const torch::Tensor may = allowed.detach().to(torch::kCPU).ne(0);
  const torch::Tensor count = may.sum(1);
  const torch::Tensor none = count.eq(0).nonzero().flatten();
  require(none.numel() == 0, "{}: no value of site {} is allowed", what,
          none.numel() > 0 ? none[0].item<int64_t>() : 0);
  const int64_t most = count.max().item<int64_t>();
  require(most > 1, "{}: one value of each site is allowed, so that nothing is left to sample",
          what);
  // The allowed values of a site come first, in ascending order; the others repeat them.
  const torch::Tensor order =
      std::get<1>(may.logical_not().to(torch::kUInt8).sort(/*stable=*/true, 1, false));
  const torch::Tensor repeated = torch::arange(most).unsqueeze(0).remainder(count.unsqueeze(1));
  values_ = order.gather(1, repeated).to(device);
  // Value number r of n allowed ones has ⌈(K' − r)/n⌉ numbers.
  const torch::Tensor n = count.unsqueeze(1);
  const torch::Tensor copies = (most - repeated + n - 1).floor_divide(n);
  log_copies_ = copies.to(torch::kFloat64).log().masked_fill(n.eq(1), 0.0).to(device);
  number_ = torch::full({sites, values}, -1, torch::kInt64);
  for (int64_t c = most; c-- > 0;) {
    number_.scatter_(1, order.gather(1, repeated).narrow(1, c, 1), c);
  }
  number_ = number_.to(device);
}

StateSpace AllowedValues::space() const {
  return {StateKind::kCategorical, whole_.sites, values_.size(1)};
}

torch::Tensor AllowedValues::single() const {
  return (values_ == values_.select(1, 0).unsqueeze(1)).all(1);
}

namespace {

// Returns table[i, x_i] for the sites of each state: [B, D].
torch::Tensor at_numbers(const torch::Tensor& table, const torch::Tensor& x) {
  return table.unsqueeze(0)
      .expand({x.size(0), table.size(0), table.size(1)})
      .gather(2, x.to(torch::kInt64).unsqueeze(2))
      .squeeze(2);
}

}  // namespace

torch::Tensor AllowedValues::decode(const torch::Tensor& numbers) const {
  return at_numbers(values_, numbers).to(whole_.dtype());
}

torch::Tensor AllowedValues::encode(const torch::Tensor& given, const std::string& what) const {
  const torch::Tensor rows = given.to(values_.device(), torch::kInt64).view({-1, whole_.sites});
  const torch::Tensor number = at_numbers(number_, rows.clamp_min(0));
  const torch::Tensor wrong = (number.lt(0) & rows.ge(0)).nonzero().cpu();
  if (wrong.size(0) > 0) {
    const int64_t row = wrong[0][0].item<int64_t>(), site = wrong[0][1].item<int64_t>();
    fail("{}: the value {} of site {} is not allowed", what, rows[row][site].item<int64_t>(), site);
  }
  return torch::where(rows.lt(0), rows, number).view(given.sizes());
}

torch::Tensor AllowedValues::extra_energy(const torch::Tensor& numbers) const {
  return at_numbers(log_copies_, numbers).sum(1);
}

AllowedModel::AllowedModel(std::shared_ptr<EnergyModel> joint, AllowedValues allowed)
    : WrappedModel(std::move(joint)), allowed_(std::move(allowed)) {
  register_buffer("allowed_values", allowed_.values());
}

// A relaxed state gives weights to the numbers of a site, and so to its values.
torch::Tensor AllowedModel::energy(const torch::Tensor& x) {
  if (!x.is_floating_point()) {
    return inner().energy(allowed_.decode(x)) + allowed_.extra_energy(x);
  }
  const torch::Tensor extra =
      (x.to(torch::kFloat64) * allowed_.log_copies().unsqueeze(0)).flatten(1).sum(1);
  const StateSpace& whole = allowed_.whole();
  torch::Tensor values;
  if (whole.one_hot()) {
    values = torch::zeros({x.size(0), whole.sites, whole.categories}, x.options())
                 .scatter_add(2, allowed_.values().unsqueeze(0).expand(x.sizes()), x);
  } else {
    values = (x * allowed_.values().to(x.scalar_type()).unsqueeze(0)).sum(2);
  }
  return inner().energy(values) + extra;
}

void AllowedModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  Evaluation joint;
  inner().evaluate_energy(allowed_.decode(x), joint);
  store(out.energy, joint.energy + allowed_.extra_energy(x));
}

void AllowedModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  Evaluation joint;
  inner().evaluate(allowed_.decode(x), joint);
  store(out.energy, joint.energy + allowed_.extra_energy(x));
  const int64_t shape[] = {x.size(0), space().sites, space().categories};
  const torch::Tensor values = allowed_.values().unsqueeze(0).expand(shape);
  const torch::Tensor gradient = allowed_.whole().one_hot()
                                     ? joint.gradient.gather(2, values)
                                     : joint.gradient.unsqueeze(2) * values.to(torch::kFloat32);
  store(out.gradient, gradient + allowed_.log_copies().to(torch::kFloat32).unsqueeze(0));
}

// Returns log m of the current number of each site, float64 [B, D].
torch::Tensor AllowedModel::copies_at(const torch::Tensor& x) const {
  return at_numbers(allowed_.log_copies(), x);
}

void AllowedModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  Evaluation joint;
  inner().exact_differences()->evaluate_differences(allowed_.decode(x), joint);
  store(out.energy, joint.energy + allowed_.extra_energy(x));
  const int64_t shape[] = {x.size(0), space().sites, space().categories};
  const torch::Tensor values = allowed_.values().unsqueeze(0).expand(shape);
  // U(x) − U(x with x_i ← value); binary models give that of the flip alone.
  torch::Tensor table = joint.differences;
  if (allowed_.whole().kind == StateKind::kBinary) {
    const torch::Tensor now = allowed_.decode(x).to(torch::kFloat32);
    table = torch::stack({table * now, table * (1 - now)}, 2);
  }
  const torch::Tensor change =
      copies_at(x).unsqueeze(2) - allowed_.log_copies().unsqueeze(0).expand(shape);
  store(out.differences, table.gather(2, values) + change.to(torch::kFloat32));
}

void AllowedModel::conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                           torch::Tensor& out) {
  torch::Tensor whole =
      torch::empty({x.size(0), allowed_.whole().categories}, x.options().dtype(torch::kFloat64));
  inner().conditionals()->conditional_differences(allowed_.decode(x), site, whole);
  const torch::Tensor copies = allowed_.log_copies().index_select(0, site);
  const torch::Tensor now = copies_at(x).gather(1, site.unsqueeze(1));
  out.copy_(whole.gather(1, allowed_.values().index_select(0, site)) + copies - now);
}

}  // namespace isinglass
