// Implements the tensor layer of tempering: it checks tensors and runs the kernels of swap.h and
// mixture.h.
#include "kernels/ops/tempering.h"

#include "kernels/ops/check.h"
#include "kernels/tempering/mixture.h"
#include "kernels/tempering/swap.h"

namespace isinglass::ops {
namespace {

uint8_t* bytes(const Tensor& t) {
  return static_cast<uint8_t*>(t.mutable_data_ptr());
}

int64_t row_bytes(const Tensor& t) {
  return t.size(0) > 0 ? static_cast<int64_t>(t.nbytes()) / t.size(0) : 0;
}

void check_row(const Tensor& t, const Tensor& like, int64_t rows, const char* name) {
  TORCH_CHECK(t.dim() >= 1 && t.size(0) == rows, "isinglass operator: ", name, " must have ", rows,
              " rows");
  check(t, like, t.scalar_type(), t.numel(), name);
}

}  // namespace

void swap_rungs(const RungTensors& rungs, RungChainTensors& at, SwapSums& sums, TopTensors& top,
                const StepBuffers& chains, StepBuffers& counted, const Tensor& rng,
                const Tensor& ensemble_ids) {
  const Tensor& like = at.chain;
  TORCH_CHECK(like.dim() == 2 && like.size(1) >= 2 && top.local >= 1 && sums.every >= 1,
              "isinglass operator: chain must be [C, R] with 2 rungs or more");
  const int64_t c = like.size(0), r = like.size(1), b = c * r;
  const int64_t n = r > 0 ? rungs.scale.numel() / r : 0;
  // History numbers rungs by int16.
  constexpr int64_t kMostRungs = std::numeric_limits<int16_t>::max();
  TORCH_CHECK(r <= kMostRungs, "isinglass operator: there are ", r, " rungs, but at most ",
              kMostRungs, " can be indexed by int16");
  const auto real = torch::kFloat64, whole = torch::kInt64;
  check(rungs.beta, like, real, r, "beta");
  check(rungs.scale, like, real, r * n, "scale");
  check(at.chain, like, whole, b, "chain");
  check(at.beta, like, real, b, "beta");
  check(at.scale, like, real, b * n, "scale");
  check(at.energy, like, real, b, "energy");
  const bool linear = !at.below.defined() && !at.above.defined();
  for (const Tensor* t : {linear ? &at.start : &at.below, linear ? &at.target : &at.above}) {
    check(*t, like, real, b, linear ? "start or target" : "below or above");
  }
  check(sums.rejection, like, real, b - c, "rejection");
  check(sums.acceptance, like, real, b, "acceptance");
  check(sums.end, like, whole, b, "end");
  check(sums.trips, like, whole, c, "trips");
  check(sums.history, like, torch::kInt16, sums.history.numel(), "history");
  check(sums.delta_u, like, real, sums.delta_u.numel(), "rises");
  TORCH_CHECK(sums.history.size(0) >= 1 && sums.history.numel() % r == 0 &&
                  sums.delta_u.numel() == sums.delta_u.size(0) * 2 * (b - c),
              "isinglass operator: history must be [H, R] and rises [S, C, R - 1, 2]");
  check_row(top.states, like, b, "states");
  check_row(top.x, like, c, "x");
  TORCH_CHECK(row_bytes(top.states) == row_bytes(top.x),
              "isinglass operator: states and x must have rows of the same type and size");
  check(top.energy, like, real, c, "energy");
  check(rng, like, whole, 2, "rng");
  check(ensemble_ids, like, whole, c, "ensemble_ids");
  const Ladder ladder{c, r, n, data<double>(rungs.beta), data<double>(rungs.scale)};
  const RungChains of_rungs{data<int64_t>(at.chain), data<double>(at.beta),
                            data<double>(at.scale),  data<double>(at.start),
                            data<double>(at.target), data<double>(at.below),
                            data<double>(at.above),  data<double>(at.energy)};
  const SwapCounts counts{data<double>(sums.rejection), data<double>(sums.acceptance),
                          data<int64_t>(sums.end),      data<int64_t>(sums.trips),
                          data<int16_t>(sums.history),  sums.history.size(0),
                          data<double>(sums.delta_u),   sums.measured()};
  const TopChains of_top{bytes(top.states),
                         bytes(top.x),
                         row_bytes(top.x),
                         data<double>(top.energy),
                         top.local,
                         count_pointers(chains, like, b),
                         count_pointers(counted, like, c)};
  run_twin(like, cpu::swap_rungs, cuda::swap_rungs, ladder, of_rungs, counts, of_top,
           data<int64_t>(rng), data<int64_t>(ensemble_ids));
}

void replace_reference(const Tensor& chain, const Tensor& rng, at::TensorList chains,
                       at::TensorList own) {
  TORCH_CHECK(chain.dim() == 2 && chains.size() == own.size() && chains.size() <= kMaxRows,
              "isinglass operator: replace_reference takes up to ", kMaxRows, " pairs of tensors");
  const int64_t c = chain.size(0), r = chain.size(1);
  check(chain, chain, torch::kInt64, c * r, "chain");
  check(rng, chain, torch::kInt64, 2, "rng");
  ReferenceRows rows{{}, static_cast<int>(chains.size())};
  for (size_t i = 0; i < chains.size(); ++i) {
    check_row(chains[i], chain, c * r, "chains");
    check_row(own[i], chain, c, "own");
    TORCH_CHECK(row_bytes(chains[i]) == row_bytes(own[i]),
                "isinglass operator: rows must have the same type and size");
    rows.row[i] = {bytes(chains[i]), bytes(own[i]), row_bytes(own[i])};
  }
  run_twin(chain, cpu::replace_reference, cuda::replace_reference, c, r, data<int64_t>(rng),
           data<int64_t>(chain), rows);
}

namespace {

template <class T>
void mix_rows(const Tensor& start, const Tensor& target, const Tensor& beta, const Tensor& out) {
  const int64_t rows = target.size(0), columns = target.numel() / rows;
  const bool one_start = start.defined() && start.numel() != target.numel();
  const Mixture<T> mixture{rows,      columns,         beta.numel(),       data<T>(start),
                           one_start, data<T>(target), data<double>(beta), data<T>(out)};
  run_twin(target, [](auto... a) { cpu::mix(a...); }, [](auto... a) { cuda::mix(a...); }, mixture);
}

}  // namespace

void mix(const Tensor& start, const Tensor& target, const Tensor& beta, Tensor& out) {
  const int64_t rows = target.size(0);
  TORCH_CHECK(rows % beta.numel() == 0,
              "isinglass operator: the number of betas does not divide the ", rows, " states");
  if (target.numel() == 0) return;
  const torch::ScalarType type = target.scalar_type();
  TORCH_CHECK(type == torch::kFloat32 || type == torch::kFloat64,
              "isinglass operator: the mixed tensors must be float32 or float64");
  const Tensor from = target.contiguous();
  check(beta, target, torch::kFloat64, beta.numel(), "beta");
  if (start.defined()) {
    const bool one = start.numel() != target.numel();
    check(start, target, type, one ? target.numel() / rows : target.numel(), "start");
  }
  Tensor to = out.is_contiguous() ? out : torch::empty_like(from);
  check(to, target, type, target.numel(), "out");
  if (type == torch::kFloat64) {
    mix_rows<double>(start, from, beta, to);
  } else {
    mix_rows<float>(start, from, beta, to);
  }
  if (!to.is_same(out)) out.copy_(to);
}

}  // namespace isinglass::ops
