// Implements the tensor layer of one-site Gibbs steps: it checks tensors, runs the kernels of
// one_site.h and registers the torch operators.
#include "kernels/ops/one_site.h"

#include "kernels/gibbs/one_site.h"
#include "kernels/ops/pointers.h"

namespace isinglass::ops {

void choose_sites(const Tensor& rng, const Tensor& chain_ids, int64_t sites, bool systematic,
                  Tensor& site) {
  check(rng, site, torch::kInt64, 2, "rng");
  check(chain_ids, site, torch::kInt64, site.numel(), "chain_ids");
  check(site, site, torch::kInt64, site.numel(), "site");
  run_twin(site, cpu::choose_sites, cuda::choose_sites, site.numel(), sites, systematic,
           data<int64_t>(rng), data<int64_t>(chain_ids), data<int64_t>(site));
}

void one_site_neighbours(const Tensor& x, const Tensor& site, int64_t categories,
                         Tensor& neighbours) {
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(site, x, torch::kInt64, x.size(0), "site");
  check(neighbours, x, torch::kUInt8, x.numel() * (categories - 1), "neighbours");
  run_twin(x, cpu::one_site_neighbours, cuda::one_site_neighbours, x.size(0), x.size(1),
           static_cast<int>(categories), data<uint8_t>(x), data<int64_t>(site),
           data<uint8_t>(neighbours));
}

void neighbour_differences(const Tensor& x, const Tensor& site, const Tensor& energy,
                           const Tensor& neighbour_energy, Tensor& difference) {
  TORCH_CHECK(difference.dim() == 2, "isinglass operator: difference must be [B, K]");
  const int64_t chains = x.size(0), categories = difference.size(1);
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(site, x, torch::kInt64, chains, "site");
  check(energy, x, torch::kFloat64, chains, "energy");
  check(neighbour_energy, x, torch::kFloat64, chains * (categories - 1), "neighbour_energy");
  check(difference, x, torch::kFloat64, chains * categories, "difference");
  run_twin(x, cpu::neighbour_differences, cuda::neighbour_differences, chains, x.size(1),
           static_cast<int>(categories), data<uint8_t>(x), data<int64_t>(site),
           data<double>(energy), data<double>(neighbour_energy), data<double>(difference));
}

void draw_conditionals(const Tensor& difference, const Tensor& site, const Tensor& rng,
                       const Tensor& chain_ids, Tensor& x, Tensor& energy, Tensor& choice,
                       StepBuffers& counts) {
  TORCH_CHECK(difference.dim() == 2, "isinglass operator: difference must be [B, K]");
  const int64_t chains = x.size(0), categories = difference.size(1);
  check(difference, x, torch::kFloat64, chains * categories, "difference");
  check(site, x, torch::kInt64, chains, "site");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(energy, x, torch::kFloat64, chains, "energy");
  check(choice, x, torch::kInt64, chains, "choice");
  run_twin(x, cpu::draw_conditionals, cuda::draw_conditionals, chains, x.size(1),
           static_cast<int>(categories), data<double>(difference), data<int64_t>(site),
           data<int64_t>(rng), data<int64_t>(chain_ids), data<uint8_t>(x), data<double>(energy),
           data<int64_t>(choice), count_pointers(counts, x, chains));
}

double add_drawn_differences(const Tensor& x, const Tensor& site, const Tensor& difference,
                             Tensor& energy) {
  TORCH_CHECK(x.is_cpu() && difference.dim() == 2,
              "isinglass operator: drawn differences [B, K] can be added on a CPU only");
  const int64_t chains = x.size(0), sites = x.size(1), categories = difference.size(1);
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(site, x, torch::kInt64, chains, "site");
  check(difference, x, torch::kFloat64, chains * categories, "difference");
  check(energy, x, torch::kFloat64, chains, "energy");
  const uint8_t* values = data<uint8_t>(x);
  const int64_t* at = data<int64_t>(site);
  const double* of_values = data<double>(difference);
  double* energies = data<double>(energy);
  double sum = 0;
  for (int64_t c = 0; c < chains; ++c) {
    energies[c] += of_values[c * categories + values[c * sites + at[c]]];
    sum += energies[c];
  }
  return sum;
}

namespace {

// A torch operator takes plain tensors and numbers. This adapter converts them to the arguments of
// the function above.
void draw_conditionals_op(const Tensor& difference, const Tensor& site, const Tensor& rng,
                          const Tensor& chain_ids, Tensor x, Tensor energy, Tensor choice,
                          Tensor acceptance, Tensor hops, Tensor acceptance_sum, Tensor hops_sum,
                          Tensor non_finite) {
  StepBuffers counts{acceptance, hops, acceptance_sum, hops_sum, non_finite};
  draw_conditionals(difference, site, rng, chain_ids, x, energy, choice, counts);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "choose_sites(Tensor rng, Tensor chain_ids, int sites, bool systematic, Tensor(a!) site) -> "
      "()",
      on_all_devices(choose_sites));
  m.def(
      "draw_conditionals(Tensor difference, Tensor site, Tensor rng, Tensor chain_ids, Tensor(a!) "
      "x, Tensor(b!) energy, Tensor(c!) choice, Tensor(d!) acceptance, Tensor(e!) hops, Tensor(f!) "
      "acceptance_sum, Tensor(g!) hops_sum, Tensor(h!) non_finite) -> ()",
      on_all_devices(draw_conditionals_op));
}

}  // namespace isinglass::ops
