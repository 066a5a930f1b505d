// Implements the tensor layer of one-site proposals from tables: it checks tensors, runs the
// kernels of tabulated_site.h and registers their torch operators.
#include "kernels/ops/tabulated_site.h"

#include "kernels/ops/check.h"
#include "kernels/path/move_weights.h"

namespace isinglass::ops {
namespace {

TableShape table_shape(const Tensor& table, const Tensor& x, const SiteBuffers& drawn,
                       const Tensor& log_q) {
  TORCH_CHECK(x.dim() == 2, "isinglass operator: x must be [B, D]");
  const int64_t chains = x.size(0), sites = x.size(1);
  check(x, x, torch::kUInt8, x.numel(), "a state");
  check(table, x, torch::kFloat64, x.numel(), "table");
  check(drawn.site, x, torch::kInt64, chains, "site");
  check(drawn.block_sums, x, torch::kFloat64, chains * block_sums_size(sites), "block_sums");
  check(log_q, x, torch::kFloat64, chains, "log_q");
  return {chains, sites};
}

}  // namespace

SiteBuffers SiteBuffers::create(int64_t chains, int64_t sites, torch::Device device) {
  const auto on = torch::TensorOptions().device(device);
  return {torch::zeros({chains}, on.dtype(torch::kInt64)),
          torch::zeros({chains, block_sums_size(sites)}, on.dtype(torch::kFloat64))};
}

void draw_tabulated_site(const Tensor& table, const Tensor& x, const Tensor& rng,
                         const Tensor& chain_ids, int64_t position, Tensor& y, SiteBuffers& drawn,
                         Tensor& log_q) {
  const TableShape shape = table_shape(table, x, drawn, log_q);
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, shape.chains, "chain_ids");
  check(y, x, torch::kUInt8, x.numel(), "y");
  run_twin(x, cpu::draw_tabulated_site, cuda::draw_tabulated_site, shape, data<double>(table),
           data<uint8_t>(x), data<int64_t>(rng), data<int64_t>(chain_ids), position,
           data<uint8_t>(y), data<int64_t>(drawn.site), data<double>(drawn.block_sums),
           data<double>(log_q));
}

void score_tabulated_site(const Tensor& table, const Tensor& x, SiteBuffers& drawn, Tensor& log_q) {
  const TableShape shape = table_shape(table, x, drawn, log_q);
  run_twin(x, cpu::score_tabulated_site, cuda::score_tabulated_site, shape, data<double>(table),
           data<uint8_t>(x), data<int64_t>(drawn.site), data<double>(drawn.block_sums),
           data<double>(log_q));
}

void log_balances(const Tensor& d, Tensor& out) {
  check(d, d, torch::kFloat64, d.numel(), "d");
  check(out, d, torch::kFloat64, kBalancings * d.numel(), "out");
  run_twin(d, cpu::log_balances, cuda::log_balances, d.numel(), data<double>(d), data<double>(out));
}

namespace {

// A torch operator takes plain tensors and numbers. These adapters convert them to the arguments of
// the functions above.

void draw_tabulated_site_op(const Tensor& table, const Tensor& x, const Tensor& rng,
                            const Tensor& chain_ids, int64_t position, Tensor y, Tensor site,
                            Tensor block_sums, Tensor log_q) {
  SiteBuffers drawn{site, block_sums};
  draw_tabulated_site(table, x, rng, chain_ids, position, y, drawn, log_q);
}

void score_tabulated_site_op(const Tensor& table, const Tensor& x, const Tensor& site,
                             Tensor block_sums, Tensor log_q) {
  SiteBuffers drawn{site, block_sums};
  score_tabulated_site(table, x, drawn, log_q);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def(
      "draw_tabulated_site(Tensor table, Tensor x, Tensor rng, Tensor chain_ids, int position, "
      "Tensor(a!) y, Tensor(b!) site, Tensor(c!) block_sums, Tensor(d!) log_q) -> ()",
      on_all_devices(draw_tabulated_site_op));
  m.def(
      "score_tabulated_site(Tensor table, Tensor x, Tensor site, Tensor(a!) block_sums, Tensor(b!) "
      "log_q) -> ()",
      on_all_devices(score_tabulated_site_op));
  m.def("log_balances(Tensor d, Tensor(a!) out) -> ()", on_all_devices(log_balances));
}

}  // namespace isinglass::ops
