// Undirected graphs as benchmarks publish them: texts in one of three forms.
//
//   edge list   u v [weight] a line; vertices from 0 if one is called 0, else from 1
//   Gset        the same behind a line of two numbers, n m: vertices and edges
//   DIMACS      p edge n m (or p col n m), then e u v [weight] a line; vertices from 1
//
// Lines that begin with # or %, and DIMACS's c lines, are comments; one that says nothing but
// `optimum V`, and perhaps more in parentheses, names the known optimum of the problem that the
// file is for. All edges of a list have a weight or none, which is 1; one that is given again with
// the same weight, in whichever direction, is the same edge. Files of METIS, whose lines hold the
// neighbours of a vertex, and of MatrixMarket are refused.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/torch.h"

namespace isinglass {

// How a text was understood.
struct GraphReading {
  std::string header;         // of the form: "none", "n m" or "p edge n m"
  int64_t first_vertex;       // the number that the file gives the first vertex: 0 or 1
  int64_t vertices, edges;    // of the graph
  int64_t isolated_vertices;  // of no edge
  int64_t repeated_edges;     // lines that give an edge again
};

struct Graph {
  int64_t vertices = 0;
  torch::Tensor edges;   // int64 [E, 2], u < v, sorted, each once
  torch::Tensor weight;  // float64 [E]
  std::optional<double> optimum = {};
  std::optional<GraphReading> reading = {};  // none: it was no text
};

// Throws Error naming the file and the line that is wrong: a word that is no number, a vertex out
// of range, a vertex's edge with itself, a header that is missing or promises another number of
// edges; and a file that may be of another format.
Graph read_graph(const std::filesystem::path& file);

// A graph in memory: edges int64 [E, 2] of two different vertices 0 … n − 1 each, in either direction;
// weight [E]. Throws Error, naming `source`, for an edge that is there twice.
Graph graph_of(int64_t vertices, const torch::Tensor& edges, const torch::Tensor& weight,
               const std::string& source);

// All pairs of vertices that are no edge, each of weight 1. Throws Error, naming `source`, where
// they are too many to keep.
Graph complement_of(const Graph& graph, const std::string& source);

}  // namespace isinglass
