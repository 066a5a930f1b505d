// The graphs of rudy (Rinaldi 1995), "a rudimental graph generator", which made the G-set. This
// code was written anew, after rudy's own description of its graphs, the order of draws in its
// public source, and the Stanford GraphBase, whose random numbers and random graphs rudy takes
// (Knuth, "The Stanford GraphBase", 1993, chapters GB_FLIP and GB_RAND). The same seeds give the
// same graphs, edge by edge.
//
// An edge list has an order, by which random weights are given to the edges: by the lesser end,
// and among edges of the same lesser end the last that was added comes first.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/lattice/graph_file.h"

namespace isinglass {

// Draws the numbers of GB_FLIP: y_n = (y_{n−24} − y_{n−55}) mod 2^31.
class FlipStream {
 public:
  explicit FlipStream(int64_t seed);
  uint32_t next();               // in [0, 2^31)
  int64_t below(int64_t count);  // uniform in [0, count), by rejection

 private:
  void renew();

  // y_{n−54} … y_n, the newest first. The numbers are used in the reverse of this order.
  std::array<uint32_t, 55> numbers_;
  size_t unused_ = 0;
};

struct RudyGraph {
  struct Edge {
    int64_t u, v;
    int64_t weight = 1;
  };

  int64_t vertices = 0;
  std::vector<Edge> edges = {};  // in the order in which they were added

  // Returns the edges with u < v in the order described above.
  std::vector<Edge> listed() const;
  Graph graph() const;
};

// Returns `percent` % of the pairs of vertices, rounded, drawn one by one (-rnd_graph).
RudyGraph rudy_random(int64_t vertices, double percent, int64_t seed);

// Returns a planar graph (-planar): each vertex after the third is joined to the corners of a
// random inner face of a triangulation, and random edges are removed until at most `percent` % of
// 3n − 6 are left.
RudyGraph rudy_planar(int64_t vertices, double percent, int64_t seed);

// Returns the periodic grid (-toroidal_grid_2D); both sides are at least 3.
RudyGraph rudy_torus(int64_t rows, int64_t columns);

// Returns the number of edges in a largest cut of the periodic grid: every row and column is a
// ring, and a ring of odd length has an edge that is not cut.
int64_t torus_cut(int64_t rows, int64_t columns);

// Returns the edges that are in a or in b (+).
RudyGraph rudy_union(const RudyGraph& a, const RudyGraph& b);

// Returns the graph with random weights −1 and +1 (-random 0 1 SEED -times 2 -plus -1).
RudyGraph rudy_signs(RudyGraph graph, int64_t seed);

// Returns the graph G`number` of the G-set (Helmberg & Rendl 2000, "A spectral bundle method for
// semidefinite programming", and Ye's additions): 1 to 67, 70, 72, 77 or 81. Throws Error for
// other numbers. The largest cut is given where it is evident, which is on tori without weights.
Graph gset_graph(int64_t number);

}  // namespace isinglass
