// Reads undirected graphs in the text formats in which benchmarks publish them.
//
//   edge list   u v [weight] a line; vertices start at 0 if any vertex is 0, otherwise at 1
//   Gset        an edge list after a first line n m: the numbers of vertices and of edges
//   DIMACS      p edge n m (or p col n m), then e u v [weight] a line; vertices start at 1
//
// Lines that begin with # or %, and DIMACS's c lines, are comments. A comment that consists of
// `optimum V`, optionally followed by text in parentheses, gives the known optimum of the problem
// that the file belongs to. Either all edges of a list have a weight, or none has and all weights
// are 1. An edge that is repeated with the same weight, in either direction, counts once. METIS
// files, whose lines hold the neighbours of a vertex, and MatrixMarket files are refused.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/torch.h"

namespace isinglass {

// Describes how a text was interpreted.
struct GraphReading {
  std::string header;         // form of the header: "none", "n m" or "p edge n m"
  int64_t first_vertex;       // the number that the file gives the first vertex: 0 or 1
  int64_t vertices, edges;    // of the graph that was read
  int64_t isolated_vertices;  // vertices without edges
  int64_t repeated_edges;     // lines that repeat an edge
};

struct Graph {
  int64_t vertices = 0;
  torch::Tensor edges;   // int64 [E, 2], u < v, sorted, each once
  torch::Tensor weight;  // float64 [E]
  std::optional<double> optimum = {};
  std::optional<GraphReading> reading = {};  // empty unless it was read from a text
};

// Reads a graph. Throws Error naming the file and the offending line: a word that is not a number,
// a vertex out of range, an edge from a vertex to itself, or a header that is missing or gives
// another number of edges. Files that may be in another format are refused, too.
Graph read_graph(const std::filesystem::path& file);

// Returns a graph from tensors: edges int64 [E, 2] between two different vertices of 0 … n − 1, in
// either direction; weight [E]. Throws Error, naming `source`, for an edge that occurs twice.
Graph graph_of(int64_t vertices, const torch::Tensor& edges, const torch::Tensor& weight,
               const std::string& source);

// Returns the complement: all pairs of vertices that are not edges, with weight 1. Throws Error,
// naming `source`, if there are too many to hold in memory.
Graph complement_of(const Graph& graph, const std::string& source);

}  // namespace isinglass
