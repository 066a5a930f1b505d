// Tiny pairwise targets for exactness tests, as plain loops and as the project's Potts model:
//   U(x) = −Σ_i h_{i,x_i} − Σ_e c_e(x_i, x_j) on a cycle with one chord, numbers without symmetry,
// with c_e(k, l) = c_e δ(k, l) or a table for each edge.
#pragma once

#include "models/lattice/potts.h"
#include "tests/reference/enumeration.h"

namespace isinglass::reference {

struct TinyLattice {
  int sites, categories;
  double strength;
  bool tables = false;

  std::vector<std::pair<int, int>> edges() const {
    std::vector<std::pair<int, int>> all;
    for (int i = 0; i + 1 < sites; ++i) all.push_back({i, i + 1});
    all.push_back({0, sites - 1});
    if (sites > 4) all.push_back({1, 4});
    return all;
  }
  double coupling(int e) const { return strength * (0.5 + 0.8 * std::sin(1.7 * e + 0.2)); }
  double table(int e, int k, int l) const {
    return strength * 0.7 * std::sin(1.1 * e + 2.3 * k - 0.9 * l + 0.4);
  }
  double field(int i, int k) const { return strength * 0.6 * std::cos(1.3 * i + 2.1 * k); }

  Target enumerate() const {
    Target target{StateTable(sites, categories), {}, {}};
    const auto pairs = edges();
    for (const State& x : target.table.states) {
      double u = 0;
      for (int i = 0; i < sites; ++i) u -= field(i, x[i]);
      for (size_t e = 0; e < pairs.size(); ++e) {
        const int k = x[pairs[e].first], l = x[pairs[e].second];
        if (tables) {
          u -= table(static_cast<int>(e), k, l);
        } else if (k == l) {
          u -= coupling(static_cast<int>(e));
        }
      }
      target.energy.push_back(u);
    }
    return target;
  }

  std::shared_ptr<PottsModel> model() const {
    const auto pairs = edges();
    const auto count = static_cast<int64_t>(pairs.size());
    torch::Tensor ends = torch::empty({count, 2}, torch::kInt64);
    torch::Tensor c = torch::empty({count}, torch::kFloat64);
    torch::Tensor t = torch::empty({count, categories, categories}, torch::kFloat64);
    torch::Tensor h = torch::empty({sites, categories}, torch::kFloat64);
    for (int e = 0; e < count; ++e) {
      ends[e][0] = pairs[e].first;
      ends[e][1] = pairs[e].second;
      c[e] = coupling(e);
      for (int k = 0; k < categories; ++k) {
        for (int l = 0; l < categories; ++l) t[e][k][l] = table(e, k, l);
      }
    }
    for (int i = 0; i < sites; ++i) {
      for (int k = 0; k < categories; ++k) h[i][k] = field(i, k);
    }
    return std::make_shared<PottsModel>(ends, tables ? t : c, h);
  }
};

}  // namespace isinglass::reference
