// A small RBM with its energies and the transitions of its sweeps by plain loops over the hidden
// units.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "models/network/rbm.h"
#include "tests/reference/enumeration.h"

namespace isinglass {

using reference::Matrix;
using reference::Target;

// Weights [hidden][site][value] and biases as plain numbers; a binary value 0 has none.
struct SmallRbm {
  int sites, categories, hidden;
  bool one_hot;
  std::shared_ptr<RbmModel> model;

  SmallRbm(int d, int k, int h, bool categorical)
      : sites(d), categories(k), hidden(h), one_hot(categorical) {
    torch::manual_seed(31);
    const std::vector<int64_t> visible =
        one_hot ? std::vector<int64_t>{d, k} : std::vector<int64_t>{d};
    std::vector<int64_t> both = visible;
    both.insert(both.begin(), h);
    w = 1.5 * torch::randn(both);
    b_v = torch::randn(visible);
    b_h = torch::randn({h});
    model = std::make_shared<RbmModel>(w, b_v, b_h);
  }
  double weight(int h, int i, int value) const {
    if (one_hot) return w[h][i][value].item<double>();
    return value ? w[h][i].item<double>() : 0;
  }
  double bias(int i, int value) const {
    if (one_hot) return b_v[i][value].item<double>();
    return value ? b_v[i].item<double>() : 0;
  }
  double hidden_input(const reference::State& v, int h) const {
    double a = b_h[h].item<double>();
    for (int i = 0; i < sites; ++i) a += weight(h, i, v[i]);
    return a;
  }

  Target target() const {
    Target t{reference::StateTable(sites, categories), {}, {}};
    for (const reference::State& v : t.table.states) {
      double u = 0;
      for (int i = 0; i < sites; ++i) u -= bias(i, v[i]);
      for (int h = 0; h < hidden; ++h) u -= std::log(1 + std::exp(hidden_input(v, h)));
      t.energy.push_back(u);
    }
    return t;
  }

  // Σ_h π(h | v) π(w | h) over all 2^H states of the hidden units
  Matrix sweep(const Target& t) const {
    const auto& states = t.table.states;
    Matrix m(states.size(), std::vector<double>(states.size(), 0.0));
    for (const reference::State& on : reference::StateTable(hidden, 2).states) {
      std::vector<double> to(states.size(), 1);
      for (size_t e = 0; e < states.size(); ++e) {
        for (int i = 0; i < sites; ++i) to[e] *= site_share(on, i, states[e][i]);
      }
      for (size_t s = 0; s < states.size(); ++s) {
        double share = 1;
        for (int h = 0; h < hidden; ++h) {
          const double p = 1 / (1 + std::exp(-hidden_input(states[s], h)));
          share *= on[h] ? p : 1 - p;
        }
        for (size_t e = 0; e < states.size(); ++e) m[s][e] += share * to[e];
      }
    }
    return m;
  }

 private:
  double site_share(const reference::State& on, int i, int value) const {
    double own = 0, total = 0;
    for (int k = 0; k < categories; ++k) {
      double c = bias(i, k);
      for (int h = 0; h < hidden; ++h) c += on[h] ? weight(h, i, k) : 0;
      total += std::exp(c);
      if (k == value) own = std::exp(c);
    }
    return own / total;
  }

  torch::Tensor w, b_v, b_h;
};

}  // namespace isinglass
