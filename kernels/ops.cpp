// The only source of kernels/ that sees LibTorch: tensor checks, choice of the twin, registration.
#include "kernels/ops.h"

#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "kernels/gibbs.h"
#include "kernels/lattice.h"
#include "kernels/metropolis.h"
#include "kernels/path.h"
#include "kernels/random.h"
#include "kernels/site_weights.h"
#include "kernels/uniform_flips.h"

namespace isinglass::ops {
namespace {

// A contiguous tensor of the dtype with room for `numel` elements on x's device.
void check(const Tensor& t, const Tensor& like, torch::ScalarType dtype, int64_t numel,
           const char* name) {
  TORCH_CHECK(t.defined() && t.is_contiguous() && t.scalar_type() == dtype && t.numel() == numel &&
                  t.device() == like.device(),
              "isinglass operator: ", name, " must be a contiguous ", dtype, " tensor of ", numel,
              " elements on ", like.device());
}

// Runs the twin of the tensor's device: f(cpu-or-cuda tag, stream).
#define ISINGLASS_TWIN(like, function, ...)                                            \
  ((like).is_cuda()                                                                    \
       ? cuda::function(__VA_ARGS__,                                                   \
                        c10::cuda::getCurrentCUDAStream((like).get_device()).stream()) \
       : cpu::function(__VA_ARGS__, nullptr))

template <class T>
T* data(const Tensor& t) {
  return t.defined() ? t.mutable_data_ptr<T>() : nullptr;
}

PathShape path_shape(const Tensor& x, const Tensor& gradient, PathRule rule, Balancing balancing,
                     const PathBuffers& paths) {
  TORCH_CHECK(x.dim() == 2 && (gradient.dim() == 2 || gradient.dim() == 3),
              "isinglass operator: x must be [B, D] and its gradient [B, D] or [B, D, K]");
  const bool one_hot = gradient.dim() == 3;
  const int categories = one_hot ? static_cast<int>(gradient.size(2)) : 2;
  const int64_t chains = x.size(0), max_length = paths.site.size(1);
  check(x, x, torch::kUInt8, x.numel(), "a state");
  check(gradient, x, torch::kFloat32, x.numel() * (one_hot ? categories : 1), "gradient");
  check(paths.length, x, torch::kInt32, chains, "length");
  check(paths.site, x, torch::kInt32, chains * max_length, "site");
  check(paths.from, x, torch::kUInt8, chains * max_length, "from");
  check(paths.to, x, torch::kUInt8, chains * max_length, "to");
  check(paths.block_sums, x, torch::kFloat64, chains * 3 * site_blocks(x.size(1)), "block_sums");
  return {chains, x.size(1), categories, one_hot, rule, balancing, max_length};
}

Paths path_pointers(const PathBuffers& paths) {
  return {data<int32_t>(paths.length), data<int32_t>(paths.site), data<uint8_t>(paths.from),
          data<uint8_t>(paths.to), data<double>(paths.block_sums)};
}

StepCounts count_pointers(const StepBuffers& counts, const Tensor& like, int64_t chains) {
  check(counts.acceptance, like, torch::kFloat64, chains, "acceptance");
  check(counts.hops, like, torch::kInt64, chains, "hops");
  check(counts.acceptance_sum, like, torch::kFloat64, chains, "acceptance_sum");
  check(counts.hops_sum, like, torch::kInt64, chains, "hops_sum");
  check(counts.non_finite, like, torch::kInt64, chains, "non_finite");
  return {data<double>(counts.acceptance), data<int64_t>(counts.hops),
          data<double>(counts.acceptance_sum), data<int64_t>(counts.hops_sum),
          data<int64_t>(counts.non_finite)};
}

RowDraws row_draws(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
                   const Tensor& out) {
  TORCH_CHECK(out.dim() == 2, "isinglass operator: out must be [N, D]");
  check(out, ids, torch::kUInt8, out.numel(), "out");
  check(ids, ids, torch::kInt64, out.size(0), "ids");
  return {out.size(0),
          out.size(1),
          data<int64_t>(ids),
          static_cast<uint64_t>(seed),
          static_cast<uint32_t>(step),
          purpose};
}

}  // namespace

PathBuffers PathBuffers::create(int64_t chains, int64_t sites, int64_t max_length,
                                torch::Device device) {
  const auto on = torch::TensorOptions().device(device);
  return {torch::zeros({chains}, on.dtype(torch::kInt32)),
          torch::zeros({chains, max_length}, on.dtype(torch::kInt32)),
          torch::zeros({chains, max_length}, on.dtype(torch::kUInt8)),
          torch::zeros({chains, max_length}, on.dtype(torch::kUInt8)),
          torch::zeros({chains, 3 * site_blocks(sites)}, on.dtype(torch::kFloat64))};
}

void draw_path(const Tensor& x, const Tensor& gradient, const Tensor& rng, const Tensor& chain_ids,
               const Tensor& radius, PathRule rule, Balancing balancing, Tensor& y,
               PathBuffers& paths, Tensor& log_q) {
  const PathShape shape = path_shape(x, gradient, rule, balancing, paths);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  check(radius, x, torch::kFloat64, 1, "radius");
  check(y, x, torch::kUInt8, x.numel(), "y");
  check(log_q, x, torch::kFloat64, shape.chains, "log_q");
  ISINGLASS_TWIN(x, draw_path, shape, data<uint8_t>(x), data<float>(gradient), data<int64_t>(rng),
                 data<int64_t>(chain_ids), data<double>(radius), data<uint8_t>(y),
                 path_pointers(paths), data<double>(log_q));
}

void score_path(Tensor& y, const Tensor& gradient, PathRule rule, Balancing balancing,
                PathBuffers& paths, Tensor& log_q) {
  const PathShape shape = path_shape(y, gradient, rule, balancing, paths);
  check(log_q, y, torch::kFloat64, shape.chains, "log_q");
  ISINGLASS_TWIN(y, score_path, shape, data<uint8_t>(y), data<float>(gradient),
                 path_pointers(paths), data<double>(log_q));
}

void flip_uniformly(const Tensor& x, const Tensor& rng, const Tensor& chain_ids,
                    const Tensor& radius, int64_t categories, Tensor& y) {
  TORCH_CHECK(x.dim() == 2 && categories >= 2,
              "isinglass operator: x must be [B, D], categories >= 2");
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(y, x, torch::kUInt8, x.numel(), "y");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, x.size(0), "chain_ids");
  check(radius, x, torch::kFloat64, 1, "radius");
  ISINGLASS_TWIN(x, flip_uniformly, x.size(0), x.size(1), static_cast<int>(categories),
                 data<uint8_t>(x), data<int64_t>(rng), data<int64_t>(chain_ids),
                 data<double>(radius), data<uint8_t>(y));
}

void choose_sites(const Tensor& rng, const Tensor& chain_ids, int64_t sites, bool systematic,
                  Tensor& site) {
  check(rng, site, torch::kInt64, 2, "rng");
  check(chain_ids, site, torch::kInt64, site.numel(), "chain_ids");
  check(site, site, torch::kInt64, site.numel(), "site");
  ISINGLASS_TWIN(site, choose_sites, site.numel(), sites, systematic, data<int64_t>(rng),
                 data<int64_t>(chain_ids), data<int64_t>(site));
}

void one_site_neighbours(const Tensor& x, const Tensor& site, int64_t categories,
                         Tensor& neighbours) {
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(site, x, torch::kInt64, x.size(0), "site");
  check(neighbours, x, torch::kUInt8, x.numel() * (categories - 1), "neighbours");
  ISINGLASS_TWIN(x, one_site_neighbours, x.size(0), x.size(1), static_cast<int>(categories),
                 data<uint8_t>(x), data<int64_t>(site), data<uint8_t>(neighbours));
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
  ISINGLASS_TWIN(x, neighbour_differences, chains, x.size(1), static_cast<int>(categories),
                 data<uint8_t>(x), data<int64_t>(site), data<double>(energy),
                 data<double>(neighbour_energy), data<double>(difference));
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
  ISINGLASS_TWIN(x, draw_conditionals, chains, x.size(1), static_cast<int>(categories),
                 data<double>(difference), data<int64_t>(site), data<int64_t>(rng),
                 data<int64_t>(chain_ids), data<uint8_t>(x), data<double>(energy),
                 data<int64_t>(choice), count_pointers(counts, x, chains));
}

void accept(const Tensor& energy, const Tensor& proposed_energy, const Tensor& log_forward,
            const Tensor& log_backward, const Tensor& rng, const Tensor& chain_ids,
            at::TensorList current, at::TensorList proposed, StepBuffers& counts) {
  TORCH_CHECK(!current.empty() && current.size() == proposed.size() && current.size() <= kMaxRows,
              "isinglass operator: accept needs 1 to ", kMaxRows, " pairs of buffers");
  const Tensor &x = current[0], &y = proposed[0];
  const int64_t chains = energy.numel();
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(energy, x, torch::kFloat64, chains, "energy");
  check(proposed_energy, x, torch::kFloat64, chains, "proposed_energy");
  if (log_forward.defined()) {
    check(log_forward, x, torch::kFloat64, chains, "log_forward");
    check(log_backward, x, torch::kFloat64, chains, "log_backward");
  }
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, chains, "chain_ids");
  Rows rows{{}, static_cast<int>(current.size())};
  for (size_t i = 0; i < current.size(); ++i) {
    check(current[i], x, current[i].scalar_type(), current[i].numel(), "a current buffer");
    check(proposed[i], x, current[i].scalar_type(), current[i].numel(), "a proposed buffer");
    rows.row[i] = {current[i].mutable_data_ptr(), proposed[i].const_data_ptr(),
                   chains > 0 ? static_cast<int64_t>(current[i].nbytes()) / chains : 0};
  }
  const ProposalScores scores{data<double>(energy), data<double>(proposed_energy),
                              data<double>(log_forward), data<double>(log_backward)};
  ISINGLASS_TWIN(x, accept, chains, x.size(1), data<uint8_t>(x), data<uint8_t>(y), scores,
                 data<int64_t>(rng), data<int64_t>(chain_ids), rows,
                 count_pointers(counts, x, chains));
}

void advance(Tensor& rng) {
  check(rng, rng, torch::kInt64, 2, "rng");
  ISINGLASS_TWIN(rng, advance, data<int64_t>(rng));
}

void bernoulli_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
                    Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out);
  const bool shared = p.dim() == 1;
  check(p, out, torch::kFloat32, shared ? draws.sites : out.numel(), "p");
  ISINGLASS_TWIN(out, bernoulli_rows, draws, data<float>(p), shared ? 0 : draws.sites,
                 data<uint8_t>(out));
}

void uniform_rows(int64_t categories, const Tensor& ids, int64_t seed, int64_t step,
                  Purpose purpose, Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out);
  ISINGLASS_TWIN(out, uniform_rows, draws, static_cast<int>(categories), data<uint8_t>(out));
}

namespace {

Lattice lattice_pointers(const LatticeTensors& l, const Tensor& x) {
  TORCH_CHECK(x.dim() == 2 && l.unary.dim() == 2 && l.unary.size(0) == x.size(1),
              "isinglass operator: unary must be [D, K] for states [B, D]");
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(l.unary, x, torch::kFloat64, l.unary.numel(), "unary");
  check(l.offset, x, torch::kInt64, x.size(1) + 1, "offset");
  check(l.neighbour, x, torch::kInt32, l.neighbour.numel(), "neighbour");
  check(l.coupling, x, torch::kFloat64, l.neighbour.numel(), "coupling");
  return {x.size(1),
          static_cast<int>(l.unary.size(1)),
          data<double>(l.unary),
          data<int64_t>(l.offset),
          data<int32_t>(l.neighbour),
          data<double>(l.coupling),
          l.constant};
}

}  // namespace

void lattice_evaluate(const LatticeTensors& l, const Tensor& x, bool one_hot, Tensor& energy,
                      const Tensor& gradient) {
  const Lattice lattice = lattice_pointers(l, x);
  check(energy, x, torch::kFloat64, x.size(0), "energy");
  if (gradient.defined()) {
    check(gradient, x, torch::kFloat32, x.numel() * (one_hot ? lattice.categories : 1), "gradient");
  }
  ISINGLASS_TWIN(x, lattice_evaluate, lattice, x.size(0), data<uint8_t>(x), one_hot,
                 data<double>(energy), data<float>(gradient));
}

void lattice_differences(const LatticeTensors& l, const Tensor& x, const Tensor& site,
                         Tensor& difference) {
  const Lattice lattice = lattice_pointers(l, x);
  check(site, x, torch::kInt64, x.size(0), "site");
  check(difference, x, torch::kFloat64, x.size(0) * lattice.categories, "difference");
  ISINGLASS_TWIN(x, lattice_differences, lattice, x.size(0), data<uint8_t>(x), data<int64_t>(site),
                 data<double>(difference));
}

namespace {

// The operators' schemas hold plain tensors and numbers; these adapters group them.

void draw_path_op(const Tensor& x, const Tensor& gradient, const Tensor& rng,
                  const Tensor& chain_ids, const Tensor& radius, int64_t rule, int64_t balancing,
                  Tensor y, Tensor length, Tensor site, Tensor from, Tensor to, Tensor block_sums,
                  Tensor log_q) {
  PathBuffers paths{length, site, from, to, block_sums};
  draw_path(x, gradient, rng, chain_ids, radius, static_cast<PathRule>(rule),
            static_cast<Balancing>(balancing), y, paths, log_q);
}

void score_path_op(Tensor y, const Tensor& gradient, int64_t rule, int64_t balancing, Tensor length,
                   Tensor site, Tensor from, Tensor to, Tensor block_sums, Tensor log_q) {
  PathBuffers paths{length, site, from, to, block_sums};
  score_path(y, gradient, static_cast<PathRule>(rule), static_cast<Balancing>(balancing), paths,
             log_q);
}

void flip_uniformly_op(const Tensor& x, const Tensor& rng, const Tensor& chain_ids,
                       const Tensor& radius, int64_t categories, Tensor y) {
  flip_uniformly(x, rng, chain_ids, radius, categories, y);
}

void accept_op(const Tensor& energy, const Tensor& proposed_energy,
               const std::optional<Tensor>& log_forward, const std::optional<Tensor>& log_backward,
               const Tensor& rng, const Tensor& chain_ids, at::TensorList current,
               at::TensorList proposed, Tensor acceptance, Tensor hops, Tensor acceptance_sum,
               Tensor hops_sum, Tensor non_finite) {
  StepBuffers counts{acceptance, hops, acceptance_sum, hops_sum, non_finite};
  accept(energy, proposed_energy, log_forward.value_or(Tensor()), log_backward.value_or(Tensor()),
         rng, chain_ids, current, proposed, counts);
}

void draw_conditionals_op(const Tensor& difference, const Tensor& site, const Tensor& rng,
                          const Tensor& chain_ids, Tensor x, Tensor energy, Tensor choice,
                          Tensor acceptance, Tensor hops, Tensor acceptance_sum, Tensor hops_sum,
                          Tensor non_finite) {
  StepBuffers counts{acceptance, hops, acceptance_sum, hops_sum, non_finite};
  draw_conditionals(difference, site, rng, chain_ids, x, energy, choice, counts);
}

void choose_sites_op(const Tensor& rng, const Tensor& chain_ids, int64_t sites, bool systematic,
                     Tensor site) {
  choose_sites(rng, chain_ids, sites, systematic, site);
}

void bernoulli_rows_op(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step,
                       int64_t purpose, Tensor out) {
  bernoulli_rows(p, ids, seed, step, static_cast<Purpose>(purpose), out);
}

void uniform_rows_op(int64_t categories, const Tensor& ids, int64_t seed, int64_t step,
                     int64_t purpose, Tensor out) {
  uniform_rows(categories, ids, seed, step, static_cast<Purpose>(purpose), out);
}

void lattice_evaluate_op(const Tensor& unary, const Tensor& offset, const Tensor& neighbour,
                         const Tensor& coupling, double constant, const Tensor& x, bool one_hot,
                         Tensor energy, Tensor gradient) {
  lattice_evaluate({unary, offset, neighbour, coupling, constant}, x, one_hot, energy, gradient);
}

void lattice_differences_op(const Tensor& unary, const Tensor& offset, const Tensor& neighbour,
                            const Tensor& coupling, const Tensor& x, const Tensor& site,
                            Tensor difference) {
  lattice_differences({unary, offset, neighbour, coupling, 0}, x, site, difference);
}

// One function serves both keys: it picks the twin by its tensors' device.
void implement(torch::Library& m) {
  m.impl("draw_path", &draw_path_op);
  m.impl("score_path", &score_path_op);
  m.impl("flip_uniformly", &flip_uniformly_op);
  m.impl("choose_sites", &choose_sites_op);
  m.impl("draw_conditionals", &draw_conditionals_op);
  m.impl("accept", &accept_op);
  m.impl("bernoulli_rows", &bernoulli_rows_op);
  m.impl("uniform_rows", &uniform_rows_op);
  m.impl("lattice_evaluate", &lattice_evaluate_op);
  m.impl("lattice_differences", &lattice_differences_op);
}

}  // namespace

TORCH_LIBRARY(isinglass, m) {
  m.def(
      "draw_path(Tensor x, Tensor gradient, Tensor rng, Tensor chain_ids, Tensor radius, int rule, "
      "int balancing, Tensor(a!) y, Tensor(b!) length, Tensor(c!) site, Tensor(d!) from_, "
      "Tensor(e!) to, Tensor(f!) block_sums, Tensor(g!) log_q) -> ()");
  m.def(
      "score_path(Tensor(a!) y, Tensor gradient, int rule, int balancing, Tensor length, Tensor "
      "site, "
      "Tensor from_, Tensor to, Tensor(b!) block_sums, Tensor(c!) log_q) -> ()");
  m.def(
      "flip_uniformly(Tensor x, Tensor rng, Tensor chain_ids, Tensor radius, int categories, "
      "Tensor(a!) y) -> ()");
  m.def(
      "choose_sites(Tensor rng, Tensor chain_ids, int sites, bool systematic, Tensor(a!) site) -> "
      "()");
  m.def(
      "draw_conditionals(Tensor difference, Tensor site, Tensor rng, Tensor chain_ids, Tensor(a!) "
      "x, "
      "Tensor(b!) energy, Tensor(c!) choice, Tensor(d!) acceptance, Tensor(e!) hops, "
      "Tensor(f!) acceptance_sum, Tensor(g!) hops_sum, Tensor(h!) non_finite) -> ()");
  m.def(
      "accept(Tensor energy, Tensor proposed_energy, Tensor? log_forward, Tensor? log_backward, "
      "Tensor rng, Tensor chain_ids, Tensor(a!)[] current, Tensor[] proposed, Tensor(b!) "
      "acceptance, "
      "Tensor(c!) hops, Tensor(d!) acceptance_sum, Tensor(e!) hops_sum, Tensor(f!) non_finite) -> "
      "()");
  m.def(
      "bernoulli_rows(Tensor p, Tensor ids, int seed, int step, int purpose, Tensor(a!) out) -> "
      "()");
  m.def(
      "uniform_rows(int categories, Tensor ids, int seed, int step, int purpose, Tensor(a!) out) "
      "-> ()");
  m.def(
      "lattice_evaluate(Tensor unary, Tensor offset, Tensor neighbour, Tensor coupling, float "
      "constant, "
      "Tensor x, bool one_hot, Tensor(a!) energy, Tensor(b!) gradient) -> ()");
  m.def(
      "lattice_differences(Tensor unary, Tensor offset, Tensor neighbour, Tensor coupling, Tensor "
      "x, "
      "Tensor site, Tensor(a!) difference) -> ()");
}

TORCH_LIBRARY_IMPL(isinglass, CPU, m) {
  implement(m);
}
TORCH_LIBRARY_IMPL(isinglass, CUDA, m) {
  implement(m);
}

}  // namespace isinglass::ops
