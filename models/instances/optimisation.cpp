// Standard instances whose least energy or largest cut is sought: graphs for `maxcut`, and spin
// glasses U(s) = −Σ_{i<j} J_ij s_i s_j, s ∈ {−1, +1}^n, as quadratic functions.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "io/error.h"
#include "kernels/base/elementary.h"
#include "models/instances/entry.h"
#include "models/instances/rudy.h"
#include "models/lattice/axis_pairs.h"
#include "models/lattice/edge_set.h"
#include "models/lattice/graph_problem.h"
#include "models/lattice/quadratic.h"

namespace isinglass {
namespace {

using ModelPointer = std::shared_ptr<EnergyModel>;
using Pairs = std::vector<int64_t>;  // u₀, v₀, u₁, v₁, …

// The streams of signs and of a planted state; the other streams count from 0.
constexpr uint32_t kSigns = 0xffffffff, kPlantedState = 0xfffffffe;

constexpr double kMostSites = 1e7, kMostEdges = 1e8, kMostLoops = 1e7;

torch::Tensor edges_from(const Pairs& pairs) {
  return torch::tensor(pairs, torch::kInt64).view({-1, 2});
}

// Returns `count` numbers −1 and +1 of equal probability: float64 [count].
torch::Tensor random_signs(const Numbers& n, int64_t count) {
  return 2 * (n.uniform({count}, kSigns) < 0.5).to(torch::kFloat64) - 1;
}

// Makes max-cut on a graph whose weights are 1, or −1 and +1 if the number `signs` is not 0.
ModelPointer cut_of(const Numbers& n, int64_t vertices, const Pairs& pairs) {
  const torch::Tensor edges = edges_from(pairs);
  const torch::Tensor weight = n["signs"] != 0 ? random_signs(n, edges.size(0))
                                               : torch::ones({edges.size(0)}, torch::kFloat64);
  return std::make_shared<MaxCutModel>(graph_of(vertices, edges, weight, "instance"));
}

ModelPointer spin_glass(int64_t spins, const torch::Tensor& edges, const torch::Tensor& coupling,
                        std::optional<double> least = {}) {
  Quadratic function =
      quadratic_of(Variables::kSpin, torch::zeros({spins}, torch::kFloat64), edges, -coupling, 0);
  function.optimum = least;
  return std::make_shared<QuadraticModel>(function);
}

ModelPointer make_gset(const Numbers& n) {
  return std::make_shared<MaxCutModel>(gset_graph(n.whole("graph")));
}

// Makes max-cut on a graph in which each pair of vertices is joined with the probability `density`
// (Gilbert 1959). The pairs (u, v), u < v, are numbered row by row of v; the number of pairs to
// skip has a geometric distribution (Batagelj & Brandes 2005).
ModelPointer make_erdos_renyi(const Numbers& n) {
  const int64_t vertices = n.whole("vertices");
  const auto square = static_cast<double>(vertices) * static_cast<double>(vertices);
  const double expected = 0.5 * n["density"] * square;
  require(
      expected <= kMostEdges,
      "instance erdos-renyi: {} vertices and the density {} make about {} edges; at most {} are "
      "allowed",
      vertices, n["density"], expected, kMostEdges);
  const double per_skip = elementary::log1p(-n["density"]);
  const PhiloxStream draws = n.draws(0);
  Pairs pairs;
  int64_t u = -1, v = 1;
  for (uint32_t position = 0; v < vertices; ++position) {
    const double uniform = draws.uniform(Purpose::kInstance, position);
    const double skipped = elementary::log1p(-uniform) / per_skip;
    u += 1 + static_cast<int64_t>(std::min(skipped, square));
    for (; v < vertices && u >= v; ++v) u -= v;
    if (v < vertices) pairs.insert(pairs.end(), {u, v});
  }
  return cut_of(n, vertices, pairs);
}

// Joins the points of a regular graph's vertices, `degree` points each, two at a time: uniform
// pairs of free points are drawn, and a pair is joined unless that makes a loop or repeats an edge
// (Steger & Wormald 1999, "Generating random regular graphs quickly"). The graphs are
// asymptotically uniform.
class Pairing {
 public:
  Pairing(int64_t vertices, int64_t degree, const PhiloxStream& draws) : draws_(draws) {
    for (int64_t v = 0; v < vertices; ++v) free_.insert(free_.end(), degree, v);
  }

  // Joins all points. Returns false if points are left of which no two may be joined.
  bool complete() {
    while (!free_.empty()) {
      const uint32_t i = point(), j = point();
      const Edge edge = std::minmax(free_[i], free_[j]);
      if (allowed(edge)) {
        joined_.insert(edge);
        pairs_.insert(pairs_.end(), {edge.first, edge.second});
        for (const uint32_t place : {std::max(i, j), std::min(i, j)}) {
          free_[place] = free_.back();
          free_.pop_back();
        }
      } else if (++refused_ % kPatience == 0 && !any_allowed()) {
        return false;
      }
    }
    return true;
  }
  const Pairs& pairs() const { return pairs_; }

 private:
  using Edge = std::pair<int64_t, int64_t>;
  static constexpr int kPatience = 100;  // refusals between two searches for a pair

  uint32_t point() {
    return draws_.below(static_cast<uint32_t>(free_.size()), Purpose::kInstance, position_++);
  }
  bool allowed(const Edge& edge) const {
    return edge.first != edge.second && !joined_.contains(edge);
  }
  bool any_allowed() const {
    const std::set<int64_t> left(free_.begin(), free_.end());
    for (auto u = left.begin(); u != left.end(); ++u) {
      for (auto v = std::next(u); v != left.end(); ++v) {
        if (allowed({*u, *v})) return true;
      }
    }
    return false;
  }

  PhiloxStream draws_;
  std::vector<int64_t> free_;  // the vertex of every free point
  std::set<Edge> joined_;
  Pairs pairs_;
  uint32_t position_ = 0;
  int64_t refused_ = 0;
};

ModelPointer make_random_regular(const Numbers& n) {
  const int64_t vertices = n.whole("vertices"), degree = n.whole("degree");
  require(degree < vertices,
          "instance random-regular: degree is {}, but it must be below vertices, which is {}",
          degree, vertices);
  require(degree * vertices % 2 == 0,
          "instance random-regular: vertices is {} and degree is {}; one of them must be even",
          vertices, degree);
  const int64_t edges = degree * vertices / 2;
  require(static_cast<double>(edges) <= kMostEdges,
          "instance random-regular: vertices is {} and degree is {}, which makes {} edges; at most "
          "{} are allowed",
          vertices, degree, edges, kMostEdges);
  for (uint32_t attempt = 0;; ++attempt) {
    Pairing pairing(vertices, degree, n.draws(attempt));
    if (pairing.complete()) return cut_of(n, vertices, pairing.pairs());
  }
}

// Makes the Sherrington–Kirkpatrick model: J_ij ~ N(0, 1/n) between all spins.
ModelPointer make_sherrington_kirkpatrick(const Numbers& n) {
  const int64_t spins = n.whole("spins");
  const torch::Tensor edges = edges_of(EdgeSet::kAll, 1, spins);
  const double sigma = 1 / std::sqrt(static_cast<double>(spins));
  return spin_glass(spins, edges, sigma * n.normal({edges.size(0)}));
}

// Describes a periodic hypercubic lattice, whose sites are numbered in row-major order.
struct Torus {
  int64_t side, dimension, sites;
};

Torus torus_of(const char* name, const Numbers& n) {
  const int64_t side = n.whole("side"), dimension = n.whole("dimension");
  const double sites = std::pow(static_cast<double>(side), static_cast<double>(dimension));
  require(sites <= kMostSites,
          "instance {}: side {} in {} dimensions makes {} sites; at most {} "
          "are allowed",
          name, side, dimension, sites, kMostSites);
  return {side, dimension, static_cast<int64_t>(sites)};
}

// Makes the Edwards–Anderson model on a torus: J = ±1 with equal probabilities, or N(0, 1).
ModelPointer make_edwards_anderson(const Numbers& n) {
  const Torus torus = torus_of("edwards-anderson", n);
  const torch::Tensor sites =
      torch::arange(torus.sites).view(std::vector<int64_t>(torus.dimension, torus.side));
  std::vector<torch::Tensor> pairs;
  for (int64_t axis = 0; axis < torus.dimension; ++axis) {
    pairs.push_back(axis_pairs(sites, axis, /*periodic=*/true));
  }
  const torch::Tensor edges = torch::cat(pairs);
  const int64_t count = edges.size(0);
  return spin_glass(torus.sites, edges,
                    n["normal"] != 0 ? n.normal({count}) : random_signs(n, count));
}

// Draws loops on a torus: a walk to random neighbours that does not turn back, from a random site
// until it meets itself, ends in a loop.
class LoopWalk {
 public:
  LoopWalk(const Torus& torus, const PhiloxStream& draws) : torus_(torus), draws_(draws) {}

  // Returns the sites of a loop of at least `shortest` sites, in their order.
  std::vector<int64_t> loop(int64_t shortest) {
    for (;;) {
      std::vector<int64_t> walk = {draw(torus_.sites)};
      std::map<int64_t, int64_t> place = {{walk[0], 0}};  // of the sites in the walk
      int64_t direction = draw(2 * torus_.dimension);
      int64_t site = neighbour(walk[0], direction);
      while (place.insert({site, static_cast<int64_t>(walk.size())}).second) {
        walk.push_back(site);
        const int64_t back = direction ^ 1, other = draw(2 * torus_.dimension - 1);
        direction = other + (other >= back ? 1 : 0);
        site = neighbour(site, direction);
      }
      walk.erase(walk.begin(), walk.begin() + place[site]);
      if (static_cast<int64_t>(walk.size()) >= shortest) return walk;
    }
  }
  int64_t draw(int64_t count) {
    return draws_.below(static_cast<uint32_t>(count), Purpose::kInstance, position_++);
  }

 private:
  // Returns the previous site along axis k for the direction 2k, and the next one for 2k + 1.
  int64_t neighbour(int64_t site, int64_t direction) const {
    int64_t stride = 1;
    for (int64_t axis = direction / 2; axis > 0; --axis) stride *= torus_.side;
    const int64_t place = site / stride % torus_.side;
    const int64_t moved = (place + (direction % 2 ? 1 : torus_.side - 1)) % torus_.side;
    return site + (moved - place) * stride;
  }

  Torus torus_;
  PhiloxStream draws_;
  uint32_t position_ = 0;
};

// Makes a spin glass with a planted ground state t by frustrated loops (Hen et al. 2015, "Probing
// for quantum speedup in spin-glass problems with planted solutions"). Each loop of l edges adds
// J_ij = t_i t_j to its edges, but −t_i t_j to a random one of them. In every state an odd number
// of its edges is violated, so that its energy is at least −(l − 2), which t attains in all loops.
// With many loops a site the frustration averages out, and annealing finds t easily; in three
// dimensions it finds t most rarely with about 0.2 loops a site.
ModelPointer make_planted(const Numbers& n) {
  const Torus torus = torus_of("planted", n);
  require(n.whole("shortest") <= 2 * torus.side,
          "instance planted: shortest is {}, but it must be at most twice the side, which is {}",
          n.whole("shortest"), torus.side);
  const torch::Tensor state =
      2 * (n.uniform({torus.sites}, kPlantedState) < 0.5).to(torch::kFloat64) - 1;
  const double* t = state.data_ptr<double>();
  const auto loops = static_cast<int64_t>(std::ceil(n["loops"] * static_cast<double>(torus.sites)));
  require(static_cast<double>(loops) <= kMostLoops,
          "instance planted: {} loops for each of {} sites are {} loops; at most {} are allowed",
          n["loops"], torus.sites, loops, kMostLoops);
  LoopWalk walk(torus, n.draws(0));
  Pairs pairs;
  std::vector<double> coupling;
  double least = 0;
  for (int64_t k = 0; k < loops; ++k) {
    const std::vector<int64_t> loop = walk.loop(n.whole("shortest"));
    const auto length = static_cast<int64_t>(loop.size()), frustrated = walk.draw(length);
    for (int64_t e = 0; e < length; ++e) {
      const int64_t i = loop[e], j = loop[(e + 1) % length];
      pairs.insert(pairs.end(), {i, j});
      coupling.push_back(e == frustrated ? -t[i] * t[j] : t[i] * t[j]);
    }
    least -= static_cast<double>(length - 2);
  }
  return spin_glass(torus.sites, edges_from(pairs), torch::tensor(coupling, torch::kFloat64),
                    least);
}

}  // namespace

std::vector<Instance> optimisation_instances() {
  return {
      {"gset", {{"graph", 1, 1, true, 81, "G"}}, make_gset},
      {"erdos-renyi",
       {{"vertices", 800, 2, true, 1e5}, probability("density", 0.06), {"signs", 0, 0, true, 1}},
       make_erdos_renyi},
      {"random-regular",
       {count("vertices", 1000, 2), {"degree", 3, 1, true, 1000}, {"signs", 0, 0, true, 1}},
       make_random_regular},
      {"sherrington-kirkpatrick", {{"spins", 200, 2, true, 1e4}}, make_sherrington_kirkpatrick},
      {"edwards-anderson",
       {count("side", 30, 3), {"dimension", 2, 1, true, 4}, {"normal", 0, 0, true, 1}},
       make_edwards_anderson},
      {"planted",
       {count("side", 10, 3),
        {"dimension", 3, 2, true, 4},
        {"loops", 0.2, 1e-6, false, 100},
        {"shortest", 4, 4, true, 20}},
       make_planted},
  };
}

}  // namespace isinglass
