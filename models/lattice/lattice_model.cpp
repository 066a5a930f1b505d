// Implements the evaluation of lattices, their sweeps, and the construction of their adjacency.
#include "models/lattice/lattice_model.h"

#include <algorithm>

#include "kernels/ops/gibbs.h"
#include "kernels/ops/lattice.h"

namespace isinglass {
namespace {

void make_buffer(torch::Tensor& out, at::IntArrayRef shape, torch::ScalarType type,
                 const torch::Tensor& x) {
  if (!out.defined() || out.sizes() != shape || out.device() != x.device()) {
    out = torch::empty(shape, x.options().dtype(type));
  }
}

// Colours the sites greedily and sorts them by colour.
void colour_sites(LatticeGraph& graph) {
  const int64_t sites = graph.offset.size(0) - 1;
  const int64_t* start = graph.offset.data_ptr<int64_t>();
  const int32_t* neighbour = graph.neighbour.data_ptr<int32_t>();
  std::vector<std::vector<int32_t>> of_colour;
  std::vector<int64_t> colour(sites, -1);
  for (int64_t i = 0; i < sites; ++i) {
    std::vector<bool> taken(of_colour.size() + 1, false);
    for (int64_t n = start[i]; n < start[i + 1]; ++n) {
      if (colour[neighbour[n]] >= 0) taken[colour[neighbour[n]]] = true;
    }
    colour[i] = std::find(taken.begin(), taken.end(), false) - taken.begin();
    if (colour[i] == static_cast<int64_t>(of_colour.size())) of_colour.emplace_back();
    of_colour[colour[i]].push_back(static_cast<int32_t>(i));
  }
  std::vector<int64_t> offset = {0};
  std::vector<int32_t> sorted;
  for (const auto& same : of_colour) {
    sorted.insert(sorted.end(), same.begin(), same.end());
    offset.push_back(static_cast<int64_t>(sorted.size()));
  }
  graph.colour_offset = torch::tensor(offset, torch::kInt64);
  graph.coloured = torch::tensor(sorted, torch::kInt32);
}

}  // namespace

std::vector<torch::Tensor> LatticeModel::lattice_sources() const {
  std::vector<torch::Tensor> all = parameters();
  for (const torch::Tensor& buffer : buffers()) all.push_back(buffer);
  return all;
}

LocalTensors LatticeModel::local_tensors(Evaluation& current) {
  return {
      current.energy, current.differences.defined() ? current.differences : current.gradient, {}};
}

const ops::LatticeTensors& LatticeModel::lattice(torch::Device device) {
  if (sources_.empty()) sources_ = lattice_sources();
  const OnDevice* last = on_device_.last();
  if (last && last->device != device) on_device_ = {};
  return on_device_
      .get(sources_,
           [&] {
             const ops::LatticeTensors made = make_lattice();
             OnDevice all{device,
                          {made.unary.to(device), made.offset.to(device), made.neighbour.to(device),
                           made.coupling.to(device), made.constant, made.colour_offset.to(device),
                           made.coloured.to(device)}};
             all.lattice.exact_sums = made.exact_sums;
             if (device.is_cuda()) {  // here, because a captured step cannot wait for a copy
               // A lattice made on the device changes too often to be worth a table
               // (TemperedModel).
               if (made.unary.is_cpu())
                 all.lattice.neighbourhoods = ops::tabulate_neighbourhoods(made, device);
               all.sought = true;
             }
             return all;
           })
      .lattice;
}

const ops::NeighbourhoodTensors* LatticeModel::neighbourhoods() const {
  OnDevice* last = on_device_.last();
  if (!last) return nullptr;
  if (!last->sought) {
    last->lattice.neighbourhoods = ops::tabulate_neighbourhoods(last->lattice, torch::kCPU);
    last->sought = true;
  }
  return last->lattice.neighbourhoods.defined() ? &last->lattice.neighbourhoods : nullptr;
}

const ops::LatticeTensors& LatticeModel::evaluated_lattice(torch::Device device) {
  lattice(device);
  OnDevice& own = *on_device_.last();
  if (!own.sought_products) {
    const torch::NoGradGuard no_grad;
    own.lattice.products = ops::make_products(own.lattice);
    own.sought_products = true;
  }
  return own.lattice;
}

void LatticeModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  make_buffer(out.energy, x.sizes().slice(0, 1), torch::kFloat64, x);
  ops::lattice_evaluate(evaluated_lattice(x.device()), x, space().one_hot(), LocalTable::kGradient,
                        out.energy, {}, scratch_);
}

void LatticeModel::evaluate_table(const torch::Tensor& x, LocalTable what, torch::Tensor& energy,
                                  torch::Tensor& table) {
  const StateSpace s = space();
  make_buffer(energy, x.sizes().slice(0, 1), torch::kFloat64, x);
  const int64_t shape[] = {x.size(0), x.size(1), s.categories};
  make_buffer(table, at::IntArrayRef(shape, s.one_hot() ? 3 : 2), torch::kFloat32, x);
  ops::lattice_evaluate(evaluated_lattice(x.device()), x, s.one_hot(), what, energy, table,
                        scratch_);
}

void LatticeModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  evaluate_table(x, LocalTable::kGradient, out.energy, out.gradient);
}

void LatticeModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  evaluate_table(x, LocalTable::kDifferences, out.energy, out.differences);
}

void LatticeModel::conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                           torch::Tensor& out) {
  const int64_t shape[] = {x.size(0), space().categories};
  make_buffer(out, shape, torch::kFloat64, x);
  ops::lattice_differences(lattice(x.device()), x, site, out);
}

int64_t LatticeModel::gibbs_sweeps(int64_t steps, const torch::Tensor& rng,
                                   const torch::Tensor& chain_ids, torch::Tensor& x,
                                   Evaluation& current, ops::StepBuffers& counts) {
  tempered_sweeps(steps, {}, rng, chain_ids, x, current.energy, counts);
  return steps;
}

void LatticeModel::tempered_sweeps(int64_t steps, const torch::Tensor& beta,
                                   const torch::Tensor& rng, const torch::Tensor& chain_ids,
                                   torch::Tensor& x, torch::Tensor& energy,
                                   ops::StepBuffers& counts, bool backwards, SiteRule rule) {
  lattice(x.device());
  const bool heat_bath = rule == SiteRule::kHeatBath;
  if (heat_bath) neighbourhoods();  // computes the tables that the sweep uses
  OnDevice& own = *on_device_.last();
  ops::ThresholdTensors& thresholds = own.thresholds;
  ops::LatticeTensors graph = own.lattice;
  if (backwards) {
    if (!own.coloured_back.defined()) {
      // Within a colour the order makes no difference, so that flipping the whole list is enough.
      own.coloured_back = graph.coloured.flip(0);
      own.colour_offset_back = graph.coloured.size(0) - graph.colour_offset.flip(0);
    }
    graph.coloured = own.coloured_back;
    graph.colour_offset = own.colour_offset_back;
  }
  if (heat_bath && beta.defined()) ops::tabulate_thresholds(graph, beta, thresholds);
  ops::chromatic_sweep(graph, rule, steps, rng, chain_ids, beta, thresholds, own.kept, x, energy,
                       scratch_, counts);
}

LatticeGraph graph_of_edges(int64_t sites, const torch::Tensor& edges) {
  const int64_t count = edges.size(0);
  const torch::Tensor pairs = edges.to(torch::kCPU, torch::kInt64).contiguous();
  const int64_t* pair = pairs.data_ptr<int64_t>();
  LatticeGraph graph{
      torch::zeros({sites + 1}, torch::kInt64), torch::empty({2 * count}, torch::kInt32),
      torch::empty({2 * count}, torch::kInt64), torch::empty({2 * count}, torch::kBool)};
  int64_t* start = graph.offset.data_ptr<int64_t>();
  for (int64_t e = 0; e < 2 * count; ++e) ++start[pair[e] + 1];
  for (int64_t i = 0; i < sites; ++i) start[i + 1] += start[i];
  std::vector<int64_t> next(start, start + sites);
  for (int64_t e = 0; e < count; ++e) {
    for (int end = 0; end < 2; ++end) {
      const int64_t at = next[pair[2 * e + end]]++;
      graph.neighbour.data_ptr<int32_t>()[at] = static_cast<int32_t>(pair[2 * e + 1 - end]);
      graph.edge.data_ptr<int64_t>()[at] = e;
      graph.first.data_ptr<bool>()[at] = end == 0;
    }
  }
  colour_sites(graph);
  return graph;
}

ops::LatticeTensors lattice_on(const LatticeGraph& graph, const torch::Tensor& unary,
                               const torch::Tensor& coupling, double constant) {
  torch::Tensor of_entries = coupling.to(torch::kCPU, torch::kFloat64).index_select(0, graph.edge);
  if (coupling.dim() == 3) {  // indexed by the values of the neighbour and of the site
    of_entries = torch::where(graph.first.view({-1, 1, 1}), of_entries.transpose(1, 2), of_entries)
                     .contiguous();
  }
  ops::LatticeTensors made{unary.to(torch::kCPU, torch::kFloat64).contiguous(),
                           graph.offset,
                           graph.neighbour,
                           of_entries,
                           constant,
                           graph.colour_offset,
                           graph.coloured};
  ops::round_for_exact_sums(made);
  return made;
}

ops::LatticeTensors lattice_from_edges(const torch::Tensor& unary, const torch::Tensor& edges,
                                       const torch::Tensor& coupling, double constant) {
  return lattice_on(graph_of_edges(unary.size(0), edges), unary, coupling, constant);
}

ops::LatticeTensors lattice_without_edges(const torch::Tensor& unary) {
  return lattice_from_edges(unary, torch::empty({0, 2}, torch::kInt64),
                            torch::empty({0}, torch::kFloat32), 0);
}

}  // namespace isinglass
