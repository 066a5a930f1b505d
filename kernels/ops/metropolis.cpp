// See metropolis.h.
#include "kernels/ops/metropolis.h"

#include "kernels/ops/check.h"
#include "kernels/ops/counts.h"
#include "kernels/random/random_states.h"

namespace isinglass::ops {
namespace {

RowDraws row_draws(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
                   const Tensor& out, torch::ScalarType dtype = torch::kUInt8) {
  TORCH_CHECK(out.dim() == 2, "isinglass operator: out must be [N, D]");
  check(out, ids, dtype, out.numel(), "out");
  check(ids, ids, torch::kInt64, out.size(0), "ids");
  return {out.size(0),
          out.size(1),
          data<int64_t>(ids),
          static_cast<uint64_t>(seed),
          static_cast<uint32_t>(step),
          purpose};
}

}  // namespace

void accept(const Tensor& energy, const Tensor& proposed_energy, const Tensor& log_forward,
            const Tensor& log_backward, const Tensor& rng, const Tensor& chain_ids,
            at::TensorList current, at::TensorList proposed, StepBuffers& counts, bool unadjusted,
            int64_t group) {
  TORCH_CHECK(!current.empty() && current.size() == proposed.size() && current.size() <= kMaxRows,
              "isinglass operator: accept needs 1 to ", kMaxRows, " pairs of buffers");
  const Tensor &x = current[0], &y = proposed[0];
  const int64_t chains = energy.numel();
  TORCH_CHECK(group >= 1 && chains % group == 0,
              "isinglass operator: a group must divide the chains");
  TORCH_CHECK(
      x.dim() == 2 && (x.scalar_type() == torch::kUInt8 || x.scalar_type() == torch::kFloat32 ||
                       x.scalar_type() == torch::kInt64),
      "isinglass operator: states must be uint8, float32 or int64 [B, D]");
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
  const StatePair states{x.const_data_ptr(), y.const_data_ptr(), x.size(1), x.element_size()};
  const ProposalScores scores{data<double>(energy),
                              data<double>(proposed_energy),
                              data<double>(log_forward),
                              data<double>(log_backward),
                              unadjusted,
                              group};
  run_twin(x, cpu::accept, cuda::accept, chains, states, scores, data<int64_t>(rng),
           data<int64_t>(chain_ids), rows, count_pointers(counts, x, chains));
}

void advance(Tensor& rng, int64_t steps) {
  check(rng, rng, torch::kInt64, 2, "rng");
  run_twin(rng, cpu::advance, cuda::advance, data<int64_t>(rng), steps);
}

void bernoulli_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
                    Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out);
  const bool shared = p.dim() == 1;
  check(p, out, torch::kFloat32, shared ? draws.sites : out.numel(), "p");
  run_twin(out, cpu::bernoulli_rows, cuda::bernoulli_rows, draws, data<float>(p),
           shared ? 0 : draws.sites, data<uint8_t>(out));
}

void uniform_rows(int64_t categories, const Tensor& ids, int64_t seed, int64_t step,
                  Purpose purpose, Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out);
  run_twin(out, cpu::uniform_rows, cuda::uniform_rows, draws, static_cast<int>(categories),
           data<uint8_t>(out));
}

void normal_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out, torch::kFloat32);
  run_twin(out, cpu::normal_rows, cuda::normal_rows, draws, data<float>(out));
}

void permutation_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out, torch::kInt64);
  run_twin(out, cpu::permutation_rows, cuda::permutation_rows, draws, data<int64_t>(out));
}

namespace {

// The operators' schemas hold plain tensors and numbers; these adapters group them.

void accept_op(const Tensor& energy, const Tensor& proposed_energy,
               const std::optional<Tensor>& log_forward, const std::optional<Tensor>& log_backward,
               const Tensor& rng, const Tensor& chain_ids, at::TensorList current,
               at::TensorList proposed, Tensor acceptance, Tensor hops, Tensor acceptance_sum,
               Tensor hops_sum, Tensor non_finite, bool unadjusted, int64_t group) {
  StepBuffers counts{acceptance, hops, acceptance_sum, hops_sum, non_finite};
  accept(energy, proposed_energy, log_forward.value_or(Tensor()), log_backward.value_or(Tensor()),
         rng, chain_ids, current, proposed, counts, unadjusted, group);
}

void bernoulli_rows_op(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step,
                       int64_t purpose, Tensor out) {
  bernoulli_rows(p, ids, seed, step, static_cast<Purpose>(purpose), out);
}

void uniform_rows_op(int64_t categories, const Tensor& ids, int64_t seed, int64_t step,
                     int64_t purpose, Tensor out) {
  uniform_rows(categories, ids, seed, step, static_cast<Purpose>(purpose), out);
}

void normal_rows_op(const Tensor& ids, int64_t seed, int64_t step, int64_t purpose, Tensor out) {
  normal_rows(ids, seed, step, static_cast<Purpose>(purpose), out);
}

void permutation_rows_op(const Tensor& ids, int64_t seed, int64_t step, int64_t purpose,
                         Tensor out) {
  permutation_rows(ids, seed, step, static_cast<Purpose>(purpose), out);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "accept(Tensor energy, Tensor proposed_energy, Tensor? log_forward, Tensor? log_backward, "
      "Tensor rng, Tensor chain_ids, Tensor(a!)[] current, Tensor[] proposed, Tensor(b!) "
      "acceptance, Tensor(c!) hops, Tensor(d!) acceptance_sum, Tensor(e!) hops_sum, Tensor(f!) "
      "non_finite, bool unadjusted=False, int group=1) -> ()");
  m.def(
      "bernoulli_rows(Tensor p, Tensor ids, int seed, int step, int purpose, Tensor(a!) out) -> "
      "()");
  m.def(
      "uniform_rows(int categories, Tensor ids, int seed, int step, int purpose, Tensor(a!) out) "
      "-> ()");
  m.def("normal_rows(Tensor ids, int seed, int step, int purpose, Tensor(a!) out) -> ()");
  m.def("permutation_rows(Tensor ids, int seed, int step, int purpose, Tensor(a!) out) -> ()");
}

// One function serves both keys: it picks the twin by its tensors' device.
TORCH_LIBRARY_IMPL(isinglass, CPU, m) {
  m.impl("accept", &accept_op);
  m.impl("bernoulli_rows", &bernoulli_rows_op);
  m.impl("uniform_rows", &uniform_rows_op);
  m.impl("normal_rows", &normal_rows_op);
  m.impl("permutation_rows", &permutation_rows_op);
}
TORCH_LIBRARY_IMPL(isinglass, CUDA, m) {
  m.impl("accept", &accept_op);
  m.impl("bernoulli_rows", &bernoulli_rows_op);
  m.impl("uniform_rows", &uniform_rows_op);
  m.impl("normal_rows", &normal_rows_op);
  m.impl("permutation_rows", &permutation_rows_op);
}

}  // namespace isinglass::ops
