// Graphs from texts: the three forms, what they have in common, and what is refused by line.
#include "models/lattice/graph_file.h"

#include <gtest/gtest.h>

#include "io/files.h"
#include "tests/support/scratch.h"

namespace isinglass {
namespace {

class GraphFile : public testing::Test {
 protected:
  Graph read(const std::string& text) {
    write_file(scratch_ / "graph.txt", text);
    return read_graph(scratch_ / "graph.txt");
  }

  // The weights as a symmetric matrix.
  torch::Tensor matrix(const std::string& text) {
    const Graph graph = read(text);
    torch::Tensor weights = torch::zeros({graph.vertices, graph.vertices}, torch::kFloat64);
    for (int64_t e = 0; e < graph.edges.size(0); ++e) {
      const auto u = graph.edges[e][0].item<int64_t>(), v = graph.edges[e][1].item<int64_t>();
      weights[u][v] += graph.weight[e];
      weights[v][u] += graph.weight[e];
    }
    return weights;
  }

  Scratch scratch_;
};

// A path 0 – 1 – 2 – 3 with the weights 1, −2, 1.5 between its vertices.
const char* const kPath = "0 1 1\n2 1 -2\n\n  2\t3 1.5\r\n";

TEST_F(GraphFile, TheFormsSayTheSame) {
  const torch::Tensor path = matrix(kPath);
  EXPECT_EQ(path.size(0), 4);
  EXPECT_EQ(path[1][2].item<double>(), -2);
  EXPECT_EQ(path[2][3].item<double>(), 1.5);
  EXPECT_EQ(path.abs().sum().item<double>(), 9);
  EXPECT_TRUE(torch::equal(matrix("# from one\n1 2 1\n3 2 -2\n3 4 1.5"), path));
  EXPECT_TRUE(torch::equal(matrix("4 3\n1 2 1\n3 2 -2\n3 4 1.5\n"), path));
  EXPECT_TRUE(torch::equal(matrix("4 3\n0 1 1\n2 1 -2\n2 3 1.5\n"), path));
  EXPECT_TRUE(torch::equal(matrix("c a path\np edge 4 3\ne 1 2\ne 3 2 -2\ne 3 4 1.5\n"), path));
  EXPECT_TRUE(torch::equal(matrix("p col 4 6\ne 1 2\ne 3 2 -2\ne 3 4 1.5\n"), path));
}

TEST_F(GraphFile, AnEdgeGivenAgainIsTheSame) {
  EXPECT_TRUE(
      torch::equal(matrix("0 1 1\n1 0 1\n1 2 -2\n2 1 -2\n2 3 1.5\n0 1 1\n"), matrix(kPath)));
  EXPECT_ERROR(read("0 1 1\n1 2 1\n2 1 3"), "line 3: the edge 1 2 has the weight 3, and on line 2");
}

TEST_F(GraphFile, AHeaderCountsVerticesWithoutEdges) {
  EXPECT_EQ(read("9 2\n1 2\n2 3\n").vertices, 9);
  EXPECT_EQ(read("p edge 9 1\ne 1 2\n").vertices, 9);
  EXPECT_EQ(read("1 2\n2 3\n").vertices, 3);
  EXPECT_EQ(read("0 2\n2 3\n").vertices, 4);
}

TEST_F(GraphFile, ACommentNamesTheOptimum) {
  EXPECT_EQ(read(kPath).optimum, std::nullopt);
  EXPECT_EQ(read(std::string("# optimum 2.5\n") + kPath).optimum, 2.5);
  EXPECT_EQ(read(std::string("% the optimum = 3\n") + kPath).optimum, 3);
  EXPECT_EQ(read("c optimum: 4 (by enumeration)\np edge 2 1\ne 1 2\n").optimum, 4);
  EXPECT_EQ(read(std::string("# optimum unknown\n") + kPath).optimum, std::nullopt);
}

TEST_F(GraphFile, WhatIsNoGraphIsRefusedByLine) {
  const std::string file = (scratch_ / "graph.txt").string();
  EXPECT_ERROR(read("1 2\n3 3\n"), file + ": line 2: an edge of vertex 3 with itself");
  EXPECT_ERROR(read("3 2\n1 2 1\n2 4 1\n"), "line 3: vertex 4 is not between 1 and 3");
  EXPECT_ERROR(read("3 2\n0 2 1\n2 3 1\n"), "line 3: vertex 3 is not between 0 and 2");
  EXPECT_ERROR(read("p edge 3 2\ne 0 2\ne 1 2\n"), "line 2: vertex 0 is not between 1 and 3");
  EXPECT_ERROR(read("1 2\n2 x\n"), "line 2: 'x' is no vertex; a whole number is needed");
  EXPECT_ERROR(read("1 2\n2 -3\n"), "line 2: '-3' is no vertex");
  EXPECT_ERROR(read("1 2 1\n2 3 heavy\n"), "line 2: 'heavy' is no weight");
  EXPECT_ERROR(read("1 2 1\n2 3 inf\n"), "line 2: 'inf' is no weight");
  EXPECT_ERROR(read("1 2\n2 3 4 5\n"), "line 2: 4 words");
  EXPECT_ERROR(read("1 2 1\n2 3\n"), "line 2: 2 words, and line 1 has 3; all edges");
  EXPECT_ERROR(read("e 1 2\ne 2 3\n"), "line 1: an edge 'e u v' comes before the header");
  EXPECT_ERROR(read("p sat 3 2\n"), "line 1: a DIMACS header is 'p edge n m'");
  EXPECT_ERROR(read("p edge 3 2\nn 1 5\n"), "line 2: it begins with 'n'");
  EXPECT_ERROR(read("p edge 3 5\ne 1 2\n"), "the header says 5 edges, and the file has 1");
  EXPECT_ERROR(read("800 19176\n1 2\n2 3\n"), "the header says 19176 edges, and the file has 2");
  EXPECT_ERROR(read("3 9\n1 2 1\n2 3 1\n"), "the header says 9 edges, and the file has 2");
  EXPECT_ERROR(read("p edge 99999999999 1\ne 1 2\n"), "99999999999 vertices; at most");
  EXPECT_ERROR(read("0 99999999999\n"), "vertex 99999999999 is not between");
  EXPECT_ERROR(read("# nothing\n"), "not a graph: the file has no edges");
  EXPECT_ERROR(read("p edge 3 0\n"), "not a graph: the file has no edges");
  EXPECT_ERROR(read(std::string("1 2\n\0\n", 6)), "not a graph: the file is no text");
  EXPECT_ERROR(read("\xff\xfe 1 2\n"), "not a graph: the file is no text");
  EXPECT_ERROR(read("hello world\n"), "line 1: 'hello' is no vertex");
}

TEST_F(GraphFile, TheComplementHasTheOtherPairs) {
  const Graph graph = read("5 4\n1 2\n1 5\n3 4\n2 3\n"), other = complement_of(graph, "it");
  EXPECT_EQ(other.edges.size(0), 6);
  const torch::Tensor both = torch::cat({graph.edges, other.edges});
  const torch::Tensor number = both.select(1, 0) * 5 + both.select(1, 1);
  EXPECT_EQ(std::get<0>(at::_unique(number)).numel(), 10);
  EXPECT_TRUE((both.select(1, 0) < both.select(1, 1)).all().item<bool>());
  EXPECT_ERROR(complement_of(read("p edge 100000 1\ne 1 2\n"), "it"),
               "it: 4999949999 pairs of vertices are no edge");
}

}  // namespace
}  // namespace isinglass
