// Implements the conversion between free sites and whole states.
#include "models/conditional/fixed_sites.h"

#include <fmt/ranges.h>

#include <cmath>

#include "io/error.h"
#include "models/conditional/chain_rows.h"

namespace isinglass {
namespace {

// Returns which entries are free, bool. For continuous states −1 is a value like any other.
torch::Tensor free_entries(const StateSpace& space, const torch::Tensor& given) {
  if (!given.is_floating_point()) return given.lt(0);
  const torch::Tensor unknown = torch::isnan(given);
  return space.discrete() ? unknown | given.eq(-1) : unknown;
}

void check_given_values(const StateSpace& space, const torch::Tensor& given,
                        const torch::Tensor& free, const std::string& what) {
  const torch::Tensor values = given.masked_select(free.logical_not()).to(torch::kFloat64);
  if (values.numel() == 0) return;
  if (!space.discrete()) {
    require(torch::isfinite(values).all().item<bool>(), "{}: a value is not finite", what);
    return;
  }
  require(values.frac().eq(0).all().item<bool>(),
          "{}: whole numbers are needed, because the states are discrete", what);
  const double least = values.min().item<double>(), most = values.max().item<double>();
  require(least >= 0 && most < static_cast<double>(space.categories),
          "{}: {} is given, but the values of a site are 0 to {}; -1 (or NaN) marks a site "
          "that is sampled",
          what, least < 0 ? least : most, space.categories - 1);
}

}  // namespace

FixedSites::FixedSites(const StateSpace& whole, const torch::Tensor& given, const std::string& what,
                       torch::Device device)
    : whole_(whole) {
  require(whole.kind != StateKind::kPermutation,
          "{}: the entries of a permutation cannot be fixed, because each of them limits the "
          "others",
          what);
  require(
      (given.dim() == 1 || given.dim() == 2) && given.size(-1) == whole.sites && given.numel() > 0,
      "{}: the shape is [{}], but [{}] or [N, {}] is needed", what,
      fmt::join(given.sizes().vec(), ", "), whole.sites, whole.sites);
  require(
      given.scalar_type() != torch::kBool,
      "{}: truth values are given; the value that a site keeps is needed, or -1 at a site that is "
      "sampled",
      what);
  const torch::Tensor rows = given.detach().to(torch::kCPU).view({-1, whole.sites});
  const torch::Tensor free = free_entries(whole, rows);
  check_given_values(whole, rows, free, what);
  const torch::Tensor count = free.sum(1);
  const int64_t most = count.max().item<int64_t>();
  require(most > 0, "{}: every site is fixed, so that nothing is left to sample", what);
  require(whole.discrete() || count.min().item<int64_t>() == most,
          "{}: more sites of some chains are fixed than of others, which needs discrete states",
          what);
  // Free sites come first in this order, and both kinds are in ascending order.
  const torch::Tensor order =
      std::get<1>(free.logical_not().to(torch::kUInt8).sort(/*stable=*/true, 1, false));
  const torch::Tensor sites = order.narrow(1, 0, most).contiguous();
  const torch::Tensor spare = torch::arange(most).unsqueeze(0) >= count.unsqueeze(1);
  same_sites_ = rows.size(0) == 1 || (sites == sites[0]).all().item<bool>();
  values_ = rows.masked_fill(free, 0).to(whole.dtype()).to(device).contiguous();
  sites_ = sites.to(device);
  if (spare.any().item<bool>()) {
    spare_ = spare.to(device);
    spare_energy_ =
        spare_.sum(1).to(torch::kFloat64) * std::log(static_cast<double>(whole.categories));
    same_sites_ = false;
  }
  kept_ = values_.gather(1, sites_);
}

StateSpace FixedSites::space() const {
  StateSpace free = whole_;
  free.sites = sites_.size(1);
  return free;
}

torch::Tensor FixedSites::free() const {
  const torch::Tensor none = torch::zeros(values_.sizes(), sites_.options().dtype(torch::kBool));
  return spare_.defined() ? none.scatter(1, sites_, spare_.logical_not())
                          : none.scatter(1, sites_, true);
}

FixedSites FixedSites::of_chains(int64_t chains, int64_t first, int64_t count) const {
  FixedSites own = *this;
  if (rows() == 1) return own;
  for (torch::Tensor* rows :
       {&own.values_, &own.sites_, &own.spare_, &own.kept_, &own.spare_energy_}) {
    *rows = rows_of_chains(*rows, chains, first, count);
  }
  return own;
}

torch::Tensor FixedSites::completed_in(torch::Tensor out, const torch::Tensor& free) const {
  const int64_t chains = free.size(0);
  out.copy_(rows_for_chains(values_, chains));
  if (same_sites_) {
    out.index_copy_(1, sites_[0], free);
  } else {
    out.scatter_(1, rows_for_chains(sites_, chains),
                 spare_.defined() ? torch::where(rows_for_chains(spare_, chains),
                                                 rows_for_chains(kept_, chains), free)
                                  : free);
  }
  return out;
}

torch::Tensor FixedSites::complete(const torch::Tensor& free) const {
  return completed_in(torch::empty({free.size(0), whole_.sites}, values_.options()), free);
}

torch::Tensor FixedSites::complete(const torch::Tensor& free, ops::Scratch& scratch) const {
  const int64_t shape[] = {free.size(0), whole_.sites};
  return completed_in(whole_.discrete() ? ops::scratch_tensor<uint8_t>(scratch, shape, free)
                                        : ops::scratch_tensor<float>(scratch, shape, free),
                      free);
}

torch::Tensor FixedSites::complete_relaxed(const torch::Tensor& free) const {
  const int64_t chains = free.size(0);
  const auto relaxed = [&](const torch::Tensor& values) {
    const torch::Tensor rows = rows_for_chains(values, chains);
    return (whole_.one_hot() ? torch::one_hot(rows.to(torch::kInt64), whole_.categories) : rows)
        .to(free.scalar_type());
  };
  const torch::Tensor whole = relaxed(values_);
  if (same_sites_) return whole.index_copy(1, sites_[0], free);
  const auto as_free = [&](const torch::Tensor& rows) {
    const torch::Tensor all = rows_for_chains(rows, chains);
    return free.dim() == 3 ? all.unsqueeze(2).expand_as(free) : all;
  };
  return whole.scatter(
      1, as_free(sites_),
      spare_.defined() ? torch::where(as_free(spare_), relaxed(kept_), free) : free);
}

void FixedSites::restrict(const torch::Tensor& whole, torch::Tensor& out) const {
  std::vector<int64_t> shape = whole.sizes().vec();
  shape[1] = sites_.size(1);
  if (!out.defined() || out.sizes() != at::IntArrayRef(shape) ||
      out.scalar_type() != whole.scalar_type() || out.device() != whole.device()) {
    out = torch::empty(shape, whole.options());
  }
  if (same_sites_) {
    at::index_select_out(out, whole, 1, sites_[0]);
    return;
  }
  const auto as_out = [&](const torch::Tensor& rows) {
    const torch::Tensor all = rows_for_chains(rows, whole.size(0));
    return whole.dim() == 3 ? all.unsqueeze(2).expand(shape) : all;
  };
  at::gather_out(out, whole, 1, as_out(sites_));
  if (spare_.defined()) out.masked_fill_(as_out(spare_), 0);
}

torch::Tensor FixedSites::restrict(const torch::Tensor& whole) const {
  torch::Tensor free;
  restrict(whole, free);
  return free;
}

void FixedSites::update(const torch::Tensor& whole, torch::Tensor& free) const {
  if (spare_.defined()) {
    free.copy_(torch::where(rows_for_chains(spare_, free.size(0)), free, restrict(whole)));
  } else {
    restrict(whole, free);
  }
}

torch::Tensor FixedSites::sites_of(const torch::Tensor& entry, ops::Scratch& scratch) const {
  torch::Tensor sites = ops::scratch_tensor<int64_t>(scratch, entry.sizes(), entry);
  if (same_sites_) return at::index_select_out(sites, sites_[0], 0, entry);
  torch::Tensor column = sites.unsqueeze(1);
  at::gather_out(column, rows_for_chains(sites_, entry.size(0)), 1, entry.unsqueeze(1));
  return sites;
}

torch::Tensor FixedSites::spare_energy(int64_t chains) const {
  return spare_energy_.defined() ? rows_for_chains(spare_energy_, chains) : spare_energy_;
}

torch::Tensor FixedSites::spare_at(const torch::Tensor& entry) const {
  if (!spare_.defined()) return {};
  return rows_for_chains(spare_, entry.size(0)).gather(1, entry.unsqueeze(1)).squeeze(1);
}

}  // namespace isinglass
