// Reads undirected graphs in the text formats in which benchmarks and libraries write them.
//
//   edge list     u v [weight] a line; vertices start at 0 if any vertex is 0, otherwise at 1
//   Gset          an edge list after a first line n m: the numbers of vertices and of edges
//   DIMACS        p edge n m (or p col n m), then e u v [weight] a line; vertices start at 1
//   PACE          p td n m (or p tw n m), then u v a line; vertices start at 1
//   MatrixMarket  a square sparse matrix, real, integer or pattern, whose entries are the edges
//   METIS         n m [format], then a line with the neighbours of each vertex, from 1
//   networkx      an edge list with the attributes {} or {'weight': w} as the last word
//   CSV           an edge list with commas or semicolons, perhaps after a line of column names
//
// Lines and comments are those of models/lattice/text_lines.h. A comment that consists of
// `optimum V`, optionally followed by text in parentheses, gives the known optimum of the problem
// that the file belongs to. Either all edges of a list have a weight, or none has and all weights
// are 1. An edge that is repeated with the same weight, in either direction, counts once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/torch.h"

namespace isinglass {

// Describes how a text was interpreted.
struct GraphReading {
  std::string format;         // "edge list", "G-set", "DIMACS", "CSV" and so on
  std::string header;         // form of the header: "none", "n m", "p edge n m" and so on
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
// a vertex out of range, an edge from a vertex to itself, a vertex whose weight is not 1, or a
// header that is missing or gives another number of edges.
Graph read_graph(const std::filesystem::path& file);

// Returns true if the first line of a text looks like that of a graph: it begins with a number or
// is a header of DIMACS, MatrixMarket or CSV.
bool is_graph_text(const std::filesystem::path& file);

// Returns a graph from tensors: edges int64 [E, 2] between two different vertices of 0 … n − 1, in
// either direction; weight [E]. Throws Error, naming `source`, for an edge that occurs twice.
Graph graph_of(int64_t vertices, const torch::Tensor& edges, const torch::Tensor& weight,
               const std::string& source);

// Returns the complement: all pairs of vertices that are not edges, with weight 1. Throws Error,
// naming `source`, if there are too many to hold in memory.
Graph complement_of(const Graph& graph, const std::string& source);

}  // namespace isinglass
