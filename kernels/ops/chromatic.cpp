// Implements chromatic_sweep() on tensors, and chooses between the kernels with and without
// neighbourhood tables.
#include "kernels/ops/chromatic.h"

#include <algorithm>
#include <vector>

#include "kernels/gibbs/chromatic.h"
#include "kernels/gibbs/fast/chromatic_table_cpu.h"
#include "kernels/ops/pointers.h"

namespace isinglass::ops {
namespace {

constexpr int64_t kMostBytes = int64_t{256} << 20;  // Thresholds of all β may take this many bytes.

// Returns the index of β among increasing `betas`, or −1 if it is not among them. The search has no
// branch that depends on β.
int64_t place_of(double beta, const double* betas, int64_t count) {
  int64_t first = 0;
  for (int64_t left = count; left > 1;) {
    const int64_t half = left / 2;
    first = betas[first + half] <= beta ? first + half : first;
    left -= half;
  }
  return betas[first] == beta ? first : -1;
}

// Sorts the chains of beta [B] by their β, and finds each β among `betas`. The vectors keep their
// memory between calls.
struct ByBeta {
  std::vector<int64_t> chain, table, first, place;

  void sort(const double* beta, int64_t chains, const double* betas, int64_t count) {
    chain.resize(chains);
    table.resize(chains);
    place.resize(chains);
    first.assign(count + 1, 0);
    for (int64_t c = 0; c < chains; ++c) {
      place[c] = place_of(beta[c], betas, count);
      TORCH_CHECK(place[c] >= 0, "isinglass operator: the thresholds belong to other betas");
      ++first[place[c] + 1];
    }
    for (int64_t t = 0; t < count; ++t) first[t + 1] += first[t];
    for (int64_t c = 0; c < chains; ++c) {
      const int64_t at = first[place[c]]++;
      chain[at] = c;
      table[at] = place[c];
    }
  }
};

// Returns true if sweeps should look up neighbourhood tables, given that there are tables.
bool looks_up_sweeps(const Tensor& x, const Tensor& beta) {
  if (x.is_cpu()) return true;
  return !beta.defined() && cuda::wants_table_sweep(x.size(0), x.size(1), x.device().index());
}

}  // namespace

void tabulate_thresholds(const LatticeTensors& l, const Tensor& beta,
                         ThresholdTensors& thresholds) {
  if (!beta.is_cpu() || !l.neighbourhoods.defined()) {
    thresholds = {};
    return;
  }
  const double* of_chain = data<double>(beta);
  const auto tabulated = [&](double own) {
    return place_of(own, data<double>(thresholds.betas), thresholds.betas.numel()) >= 0;
  };
  if (thresholds.betas.defined() && std::all_of(of_chain, of_chain + beta.numel(), tabulated)) {
    return;
  }
  std::vector<double> betas(of_chain, of_chain + beta.numel());
  std::sort(betas.begin(), betas.end());
  betas.erase(std::unique(betas.begin(), betas.end()), betas.end());
  const auto count = static_cast<int64_t>(betas.size());
  const int64_t sites = l.unary.size(0);
  const NeighbourhoodTable table =
      neighbourhood_pointers(l.neighbourhoods, torch::empty({0, sites}, torch::kUInt8));
  if (!thresholds.row.defined()) {
    thresholds.row = torch::empty({sites}, torch::kInt32);
    thresholds.rows = cpu::find_rows(table, data<int32_t>(thresholds.row));
  }
  const Tensor& row = thresholds.row;
  const int64_t size = thresholds.rows * kNeighbourhoods;
  thresholds.betas = thresholds.words = Tensor();
  if (count * size * static_cast<int64_t>(sizeof(uint32_t)) > kMostBytes) return;
  thresholds.betas = torch::tensor(betas, torch::kFloat64);
  thresholds.words = torch::empty({count, thresholds.rows, kNeighbourhoods}, torch::kUInt32);
  for (int64_t t = 0; t < count; ++t) {
    cpu::tabulate_thresholds(table, data<int32_t>(row), betas[t],
                             data<uint32_t>(thresholds.words) + t * size);
  }
}

void chromatic_sweep(const LatticeTensors& l, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, const Tensor& beta,
                     const ThresholdTensors& thresholds, Tensor& x, Tensor& energy,
                     Scratch& scratch, StepBuffers& counts) {
  const Lattice lattice = lattice_pointers(l, x);
  const int64_t chains = x.size(0);
  check(l.colour_offset, x, torch::kInt64, l.colour_offset.numel(), "colour_offset");
  check(l.coloured, x, torch::kInt32, lattice.sites, "coloured");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(energy, x, torch::kFloat64, chains, "energy");
  if (beta.defined()) check(beta, x, torch::kFloat64, chains, "beta");
  const Colouring colouring{l.colour_offset.numel() - 1, data<int64_t>(l.colour_offset),
                            data<int32_t>(l.coloured)};
  auto* numbers =
      scratch.numbers<double>(x, x.is_cuda() ? cuda::sweep_scratch(chains, lattice.sites) : 0);
  if (l.neighbourhoods.defined() && looks_up_sweeps(x, beta)) {
    const NeighbourhoodTable table = neighbourhood_pointers(l.neighbourhoods, x);
    if (!beta.defined()) {
      return run_twin(x, cpu::table_sweep, cuda::table_sweep, table, colouring, chains, steps,
                      data<int64_t>(rng), data<int64_t>(chain_ids), data<uint8_t>(x),
                      data<double>(energy), count_pointers(counts, x, chains), numbers);
    }
    if (thresholds.words.defined()) {
      thread_local ByBeta order;
      const double* betas = data<double>(thresholds.betas);
      order.sort(data<double>(beta), chains, betas, thresholds.betas.numel());
      const cpu::TemperedThresholds tempered = {thresholds.words.size(1),
                                                data<int32_t>(thresholds.row),
                                                betas,
                                                data<uint32_t>(thresholds.words),
                                                order.chain.data(),
                                                order.table.data()};
      return cpu::tempered_table_sweep(table, colouring, chains, steps, data<int64_t>(rng),
                                       data<int64_t>(chain_ids), &tempered, data<uint8_t>(x),
                                       data<double>(energy), count_pointers(counts, x, chains));
    }
  }
  run_twin(x, cpu::chromatic_sweep, cuda::chromatic_sweep, lattice, colouring, chains, steps,
           data<int64_t>(rng), data<int64_t>(chain_ids), data<double>(beta), data<uint8_t>(x),
           data<double>(energy), count_pointers(counts, x, chains), numbers);
}

}  // namespace isinglass::ops
