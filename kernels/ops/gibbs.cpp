// Implements the tensor layer of Gibbs steps: it checks tensors and runs the kernels of one_site.h,
// lattice_gibbs.h, block_gibbs.h and chromatic.h. For sweeps it chooses between the kernels with
// and without neighbourhood tables.
#include "kernels/ops/gibbs.h"

#include <algorithm>
#include <vector>

#include "kernels/gibbs/block_gibbs.h"
#include "kernels/gibbs/chromatic.h"
#include "kernels/gibbs/cluster_exchange.h"
#include "kernels/gibbs/fast/chromatic_table_cpu.h"
#include "kernels/gibbs/fast/kept_fields_cpu.h"
#include "kernels/gibbs/lattice_gibbs.h"
#include "kernels/gibbs/one_site.h"
#include "kernels/ops/check.h"

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

void lattice_gibbs_steps(const LatticeTensors& l, int64_t steps, bool systematic, const Tensor& rng,
                         const Tensor& chain_ids, Tensor& x, Tensor& energy, StepBuffers& counts) {
  const Lattice lattice = lattice_pointers(l, x);
  const int64_t chains = x.size(0);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(energy, x, torch::kFloat64, chains, "energy");
  run_twin(x, cpu::lattice_gibbs_steps, cuda::lattice_gibbs_steps, lattice, chains, steps,
           systematic, data<int64_t>(rng), data<int64_t>(chain_ids), data<uint8_t>(x),
           data<double>(energy), count_pointers(counts, x, chains));
}

namespace {

Blocks block_pointers(const BlockTensors& b, const Tensor& u) {
  TORCH_CHECK(u.dim() == 2 && b.entry.dim() == 2 && b.site.dim() == 2,
              "isinglass operator: entry must be [N, r], site [B, m] and states [B, D]");
  const int64_t chains = u.size(0), count = b.entry.size(0), size = b.site.size(1);
  check_numbered(u.size(1), "sites");
  check(u, u, torch::kUInt8, u.numel(), "u");
  check(b.entry, u, torch::kInt32, b.entry.numel(), "entry");
  check(b.inverse, u, torch::kInt32, count, "inverse");
  check(b.site, u, torch::kInt32, chains * size, "site");
  check(b.centre, u, torch::kInt32, chains, "centre");
  TORCH_CHECK(count >= 2 && size <= u.size(1) && b.entry.size(1) <= size,
              "isinglass operator: a block must have at most D sites and a change at most m");
  const BlockChanges changes{static_cast<int>(count), static_cast<int>(b.entry.size(1)),
                             data<int32_t>(b.entry), data<int32_t>(b.inverse)};
  return {chains,
          u.size(1),
          static_cast<int>(b.categories),
          static_cast<int>(size),
          changes,
          data<int32_t>(b.site),
          data<int32_t>(b.centre)};
}

}  // namespace

void choose_blocks(BlockTensors& b, bool uniform_centre, const Tensor& rng, const Tensor& chain_ids,
                   const Tensor& x, Tensor& u) {
  const Blocks blocks = block_pointers(b, u);
  check(rng, u, torch::kInt64, 2, "rng");
  check(chain_ids, u, torch::kInt64, blocks.chains, "chain_ids");
  check(x, u, torch::kUInt8, u.numel(), "x");
  run_twin(u, cpu::choose_blocks, cuda::choose_blocks, blocks, uniform_centre, data<int64_t>(rng),
           data<int64_t>(chain_ids), data<uint8_t>(x), data<uint8_t>(u));
}

void block_states(const BlockTensors& b, const Tensor& u, int64_t first, int64_t count,
                  Tensor& states) {
  const Blocks blocks = block_pointers(b, u);
  TORCH_CHECK(first >= 1 && count >= 0 && first + count <= blocks.changes.count,
              "isinglass operator: candidates must be from 1 to N - 1");
  check(states, u, torch::kUInt8, u.numel() * count, "states");
  run_twin(u, cpu::block_states, cuda::block_states, blocks, data<uint8_t>(u),
           static_cast<int>(first), static_cast<int>(count), data<uint8_t>(states));
}

void lattice_block_energies(const LatticeTensors& lattice, const BlockTensors& b, const Tensor& u,
                            const Tensor& energy, Tensor& table) {
  const Blocks blocks = block_pointers(b, u);
  check(energy, u, torch::kFloat64, blocks.chains, "energy");
  check(table, u, torch::kFloat64, blocks.chains * blocks.changes.count, "table");
  run_twin(u, cpu::lattice_block_energies, cuda::lattice_block_energies,
           lattice_pointers(lattice, u), blocks, data<uint8_t>(u), data<double>(energy),
           data<double>(table));
}

void draw_blocks(const BlockTensors& b, const Tensor& table, const Tensor& rng,
                 const Tensor& chain_ids, Tensor& x, Tensor& u, Tensor& energy, Tensor& choice,
                 StepBuffers& counts) {
  const Blocks blocks = block_pointers(b, u);
  check(table, u, torch::kFloat64, blocks.chains * blocks.changes.count, "table");
  check(rng, u, torch::kInt64, 2, "rng");
  check(chain_ids, u, torch::kInt64, blocks.chains, "chain_ids");
  check(x, u, torch::kUInt8, u.numel(), "x");
  check(energy, u, torch::kFloat64, blocks.chains, "energy");
  check(choice, u, torch::kInt64, blocks.chains, "choice");
  run_twin(u, cpu::draw_blocks, cuda::draw_blocks, blocks, data<double>(table), data<int64_t>(rng),
           data<int64_t>(chain_ids), data<uint8_t>(x), data<uint8_t>(u), data<double>(energy),
           data<int64_t>(choice), count_pointers(counts, u, blocks.chains));
}

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

namespace {

// Makes the memory for sweeps of x [B, D] with kept fields.
void make_kept(const Tensor& x, KeptFieldTensors& kept) {
  if (kept.state.defined() && kept.state.sizes() == x.sizes()) return;
  const int64_t groups = (x.size(0) + cpu::kChainLanes - 1) / cpu::kChainLanes;
  kept.field = torch::empty({groups, x.size(1), cpu::kChainLanes}, torch::kFloat64);
  kept.state = torch::zeros_like(x);
  kept.calm = torch::zeros({groups}, torch::kInt32);
}

}  // namespace

void chromatic_sweep(const LatticeTensors& l, SiteRule rule, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, const Tensor& beta,
                     const ThresholdTensors& thresholds, KeptFieldTensors& kept, Tensor& x,
                     Tensor& energy, Scratch& scratch, StepBuffers& counts) {
  const Lattice lattice = lattice_pointers(l, x);
  const int64_t chains = x.size(0);
  check(l.colour_offset, x, torch::kInt64, l.colour_offset.numel(), "colour_offset");
  check(l.coloured, x, torch::kInt32, lattice.sites, "coloured");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(energy, x, torch::kFloat64, chains, "energy");
  if (beta.defined()) check(beta, x, torch::kFloat64, chains, "beta");
  const Colouring colouring{l.colour_offset.numel() - 1, data<int64_t>(l.colour_offset),
                            data<int32_t>(l.coloured), rule};
  auto* numbers =
      scratch.numbers<double>(x, x.is_cuda() ? cuda::sweep_scratch(chains, lattice.sites) : 0);
  if (rule == SiteRule::kHeatBath && l.neighbourhoods.defined() && looks_up_sweeps(x, beta)) {
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
  if (x.is_cpu() && l.exact_sums) {
    make_kept(x, kept);
    return cpu::kept_sweep(
        lattice, colouring, chains, steps, data<int64_t>(rng), data<int64_t>(chain_ids),
        data<double>(beta),
        {data<double>(kept.field), data<uint8_t>(kept.state), data<int32_t>(kept.calm)},
        data<uint8_t>(x), data<double>(energy), count_pointers(counts, x, chains));
  }
  run_twin(x, cpu::chromatic_sweep, cuda::chromatic_sweep, lattice, colouring, chains, steps,
           data<int64_t>(rng), data<int64_t>(chain_ids), data<double>(beta), data<uint8_t>(x),
           data<double>(energy), count_pointers(counts, x, chains), numbers);
}

void exchange_clusters(const LatticeTensors& l, int64_t group, const Tensor& rng,
                       const Tensor& chain_ids, const Tensor& beta, Tensor& x, Tensor& energy,
                       Scratch& scratch) {
  const Lattice lattice = lattice_pointers(l, x);
  const int64_t chains = x.size(0), pairs = chains / group * (group / 2);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  check(energy, x, torch::kFloat64, chains, "energy");
  if (beta.defined()) check(beta, x, torch::kFloat64, chains, "beta");
  TORCH_CHECK(chains % group == 0, "isinglass operator: the group must divide the chains");
  run_twin(x, cpu::exchange_clusters, cuda::exchange_clusters, lattice, chains, group,
           data<int64_t>(rng), data<int64_t>(chain_ids), data<double>(beta), data<uint8_t>(x),
           data<double>(energy), scratch.numbers<int32_t>(x, 2 * pairs * lattice.sites));
}

}  // namespace isinglass::ops
