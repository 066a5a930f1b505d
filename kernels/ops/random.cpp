// Implements the tensor layer of random states and random walks: it checks tensors and runs the
// kernels of random_states.h, normal.h and random_walk.h.
#include "kernels/ops/random.h"

#include "kernels/ops/check.h"
#include "kernels/random/normal.h"
#include "kernels/random/random_states.h"
#include "kernels/random_walk/random_walk.h"

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

void bernoulli_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
                    Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out);
  const bool shared = p.dim() == 1;
  check(p, out, torch::kFloat32, shared ? draws.sites : out.numel(), "p");
  run_twin(out, cpu::bernoulli_rows, cuda::bernoulli_rows, draws, data<float>(p),
           shared ? 0 : draws.sites, data<uint8_t>(out));
}

namespace {

void draw_categorical(const RowDraws& draws, const Tensor& p, Tensor& out) {
  TORCH_CHECK(p.dim() == 2 && p.size(1) <= 256, "isinglass operator: p must be [D, K ≤ 256]");
  check(p, out, torch::kFloat64, draws.sites * p.size(1), "p");
  run_twin(out, cpu::categorical_rows, cuda::categorical_rows, draws, data<double>(p),
           static_cast<int>(p.size(1)), data<uint8_t>(out));
}

}  // namespace

void categorical_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step,
                      Purpose purpose, Tensor& out) {
  draw_categorical(row_draws(ids, seed, step, purpose, out), p, out);
}

void site_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
               Tensor& out) {
  if (p.dim() == 2) {
    categorical_rows(p, ids, seed, step, purpose, out);
  } else {
    bernoulli_rows(p, ids, seed, step, purpose, out);
  }
}

void uniform_rows(int64_t categories, const Tensor& ids, int64_t seed, int64_t step,
                  Purpose purpose, Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out);
  run_twin(out, cpu::uniform_rows, cuda::uniform_rows, draws, static_cast<int>(categories),
           data<uint8_t>(out));
}

namespace {

void draw_limited(const RowDraws& draws, const LimitedSiteTensors& sites, Tensor& out) {
  const int64_t tables = sites.most.numel(), entries = tables * draws.sites;
  TORCH_CHECK(sites.p.dim() == 2 && sites.p.size(1) <= 256 && sites.change.dim() == 3,
              "isinglass operator: p must be [D, K ≤ 256] and change [N, D, C]");
  TORCH_CHECK(tables > 0 && draws.rows % tables == 0, "isinglass operator: ", tables,
              " tables of sites cannot be those of ", draws.rows, " rows");
  const int64_t categories = sites.p.size(1), columns = sites.change.size(2);
  check(sites.p, out, torch::kFloat64, draws.sites * categories, "p");
  check(sites.differs, out, torch::kBool, entries * categories, "differs");
  check(sites.change, out, torch::kFloat64, entries * columns, "change");
  check(sites.most, out, torch::kInt64, tables, "most");
  run_twin(out, cpu::limited_rows, cuda::limited_rows, draws,
           LimitedSites{tables, static_cast<int>(categories), columns, data<double>(sites.p),
                        data<bool>(sites.differs), data<double>(sites.change),
                        data<int64_t>(sites.most)},
           data<uint8_t>(out));
}

}  // namespace

void limited_rows(const LimitedSiteTensors& sites, const Tensor& ids, int64_t seed, int64_t step,
                  Purpose purpose, Tensor& out) {
  draw_limited(row_draws(ids, seed, step, purpose, out), sites, out);
}

void normal_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out, torch::kFloat32);
  run_twin(out, cpu::normal_rows, cuda::normal_rows, draws, data<float>(out));
}

void permutation_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out) {
  const RowDraws draws = row_draws(ids, seed, step, purpose, out, torch::kInt64);
  run_twin(out, cpu::permutation_rows, cuda::permutation_rows, draws, data<int64_t>(out));
}

void step_sites(const Tensor& p, int64_t categories, const Tensor& rng, const Tensor& chain_ids,
                Purpose purpose, Tensor& out) {
  RowDraws draws = row_draws(chain_ids, 0, 0, purpose, out);
  check(rng, out, torch::kInt64, 2, "rng");
  draws.rng = data<int64_t>(rng);
  if (!p.defined()) {
    return run_twin(out, cpu::uniform_rows, cuda::uniform_rows, draws, static_cast<int>(categories),
                    data<uint8_t>(out));
  }
  if (p.dim() == 2) return draw_categorical(draws, p, out);
  check(p, out, torch::kFloat32, draws.sites, "p");
  run_twin(out, cpu::bernoulli_rows, cuda::bernoulli_rows, draws, data<float>(p), int64_t{0},
           data<uint8_t>(out));
}

void step_limited_rows(const LimitedSiteTensors& sites, const Tensor& rng, const Tensor& chain_ids,
                       Purpose purpose, Tensor& out) {
  RowDraws draws = row_draws(chain_ids, 0, 0, purpose, out);
  check(rng, out, torch::kInt64, 2, "rng");
  draws.rng = data<int64_t>(rng);
  draw_limited(draws, sites, out);
}

void step_normal_rows(const Tensor& rng, const Tensor& chain_ids, Purpose purpose, Tensor& out) {
  RowDraws draws = row_draws(chain_ids, 0, 0, purpose, out, torch::kFloat32);
  check(rng, out, torch::kInt64, 2, "rng");
  draws.rng = data<int64_t>(rng);
  run_twin(out, cpu::normal_rows, cuda::normal_rows, draws, data<float>(out));
}

void step_normals(const Tensor& rng, const Tensor& chain_ids, Tensor& out) {
  TORCH_CHECK(out.dim() == 2, "isinglass operator: out must be [B, D]");
  check(out, out, torch::kFloat64, out.numel(), "out");
  check(rng, out, torch::kInt64, 2, "rng");
  check(chain_ids, out, torch::kInt64, out.size(0), "chain_ids");
  run_twin(out, cpu::step_normals, cuda::step_normals, out.size(0), out.size(1), data<int64_t>(rng),
           data<int64_t>(chain_ids), data<double>(out));
}

void flip_uniformly(const Tensor& x, const Tensor& rng, const Tensor& chain_ids,
                    const Tensor& radius, int64_t categories, bool random_count, Tensor& y) {
  TORCH_CHECK(x.dim() == 2 && categories >= 2,
              "isinglass operator: x must be [B, D] and categories at least 2");
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(y, x, torch::kUInt8, x.numel(), "y");
  check(rng, x, torch::kInt64, 2, "rng");
  check(chain_ids, x, torch::kInt64, x.size(0), "chain_ids");
  run_twin(x, cpu::flip_uniformly, cuda::flip_uniformly, x.size(0), x.size(1),
           static_cast<int>(categories), data<uint8_t>(x), data<int64_t>(rng),
           data<int64_t>(chain_ids), chain_scale(radius, x, x.size(0), 1, "radius"), random_count,
           data<uint8_t>(y));
}

}  // namespace isinglass::ops
