// Graphs from texts: the formats, their common features, and the lines that are refused.
#include "models/lattice/graph_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/files.h"
#include "tests/support/scratch.h"

namespace isinglass::graph_file_test {
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
  EXPECT_ERROR(read("0 1 1\n1 2 1\n2 1 3"), "line 3: the edge 1 2 has the weight 3, but on line 2");
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
  EXPECT_EQ(read(std::string("% optimum = 3\n") + kPath).optimum, 3);
  EXPECT_EQ(read(std::string("#optimum 3\n") + kPath).optimum, 3);
  EXPECT_EQ(read("c optimum: 4 (by enumeration)\np edge 2 1\ne 1 2\n").optimum, 4);
  for (const char* comment : {"# optimum unknown", "# no known optimum 3 years later", "# optimum",
                              "# optimum 3 years later", "# optimum =", "# the optimum 3",
                              "# optimum 3 4", "# optimum inf", "%", "# known optimum: 3", "#"}) {
    EXPECT_EQ(read(std::string(comment) + "\n" + kPath).optimum, std::nullopt) << comment;
  }
}

TEST_F(GraphFile, SaysHowItWasUnderstood) {
  const auto reading = [&](const std::string& text) {
    const GraphReading r = *read(text).reading;
    return fmt::format("{}, {}; from {}; {} {}; {} isolated, {} repeated", r.format, r.header,
                       r.first_vertex, r.vertices, r.edges, r.isolated_vertices, r.repeated_edges);
  };
  EXPECT_EQ(reading(kPath), "edge list, none; from 0; 4 3; 0 isolated, 0 repeated");
  EXPECT_EQ(reading("1 2\n2 1\n5 2\n1 2\n"),
            "edge list, none; from 1; 5 2; 2 isolated, 2 repeated");
  EXPECT_EQ(reading("5 4\n1 2\n2 3\n3 4\n4 1\n"),
            "G-set, n m; from 1; 5 4; 1 isolated, 0 repeated");
  EXPECT_EQ(reading("p edge 9 2\ne 1 2\ne 2 1\n"),
            "DIMACS, p edge n m; from 1; 9 1; 7 isolated, 1 repeated");
  EXPECT_EQ(reading("p td 4 2\n1 2\n2 3\n"), "PACE, p td n m; from 1; 4 2; 1 isolated, 0 repeated");
  EXPECT_EQ(reading("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n2 1\n"),
            "MatrixMarket, MatrixMarket symmetric; from 1; 3 1; 1 isolated, 0 repeated");
  EXPECT_EQ(reading("%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 3\n1 2 3\n"),
            "MatrixMarket, MatrixMarket general; from 1; 2 1; 0 isolated, 1 repeated");
  EXPECT_EQ(reading("3 2\n2 3\n1\n1\n"), "METIS, METIS n m; from 1; 3 2; 0 isolated, 0 repeated");
  // Isolated vertices at the end are empty lines, which editors cut off.
  EXPECT_EQ(reading("5 2\n2\n1\n4\n3\n\n"),
            "METIS, METIS n m; from 1; 5 2; 1 isolated, 0 repeated");
  EXPECT_EQ(reading("5 1\n2\n1\n"), "METIS, METIS n m; from 1; 5 1; 3 isolated, 0 repeated");
  EXPECT_EQ(reading("0 1 {}\n1 2 {}\n"), "networkx, none; from 0; 3 2; 0 isolated, 0 repeated");
  EXPECT_EQ(reading("1,2\n2,3\n"), "CSV, none; from 1; 3 2; 0 isolated, 0 repeated");
  EXPECT_EQ(reading("source,target\n1,2\n"),
            "CSV, column names; from 1; 2 1; 0 isolated, 0 repeated");
  EXPECT_FALSE(graph_of(3, torch::tensor({0, 1}).view({1, 2}), torch::ones({1}), "it").reading);
  const Graph graph = read("5 1\n1 2\n");
  EXPECT_EQ(complement_of(graph, "it").reading->edges, 1);  // edges of the file
}

// The form that networkx, MatrixMarket, METIS and spreadsheets give the same path.
TEST_F(GraphFile, OtherFormatsSayTheSame) {
  const torch::Tensor path = matrix(kPath);
  const char* const kSame[] = {
      "%%MatrixMarket matrix coordinate real symmetric\n% by hand\n4 4 3\n2 1 1\n3 2 -2\n4 3 1.5\n",
      "%%MatrixMarket matrix coordinate real general\n4 4 6\n"
      "1 2 1\n2 1 1\n2 3 -2\n3 2 -2\n3 4 1.5\n4 3 1.5\n",
      "%MatrixMarket MATRIX Coordinate Real Symmetric\n4 4 3\n1 2 1\n2 3 -2\n3 4 1.5e0\n",
      "0 1 {'weight': 1}\n2 1 {'weight': -2}\n2 3 {'weight': 1.5, 'colour': 'red'}\n",
      "0,1,{'weight': 1}\n2,1,{'weight': -2}\n2,3,{'colour': 'red', 'weight': 1.5}\n",
      "source,target,weight\n0,1,1\n2,1,-2\n2,3,1.5\n",
      "\"u\";\"v\";\"w\"\n\"0\";\"1\";\"1\"\n2; 1; -2\r\n2;3;1.5\r\n",
      "0,1,1\n2,1,-2\n2,3,1.5\n",
      "0,1,1 # a, b\n2,1,-2\n2,3,1.5 % c\n",
      "0 1 +1 # the first, and\n2 1 -2 % the second\n2 3 1.5\n",
      "0.000e+00 1.000e+00 1.000e+00\n2.0 1.0 -2.0\n2.0 3.0 1.5\n",
  };
  for (const char* text : kSame) EXPECT_TRUE(torch::equal(matrix(text), path)) << text;
  const torch::Tensor plain = matrix("1 2\n2 3\n3 4\n");
  const char* const kPlain[] = {
      "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n4 3\n",
      "4 3\n2\n1 3\n2 4\n3\n",
      "% METIS\n4 3 000\n2\n1 3\n2 4\n3\n",
      "4 3 001\n2 1\n1 1 3 1\n2 1 4 1\n3 1\n",
      "4 3 011 1\n1 2 1\n1 1 1 3 1\n1 2 1 4 1\n1 3 1\n",
      "4 3 100\n7 2\n7 1 3\n7 2 4\n7 3\n",
      "#networkx\n0 1 {}\n1 2 {}\n2 3 {}\n",
      "p edges 4 3\ne 1 2\ne 2 3\ne 3 4\n",
      "p edge 4 3\nn 1 1\ne 1 2\ne 2 3\ne 3 4\n",
      "p tw 4 3\n1 2\n2 3\n3 4\n",
  };
  for (const char* text : kPlain) EXPECT_TRUE(torch::equal(matrix(text), plain)) << text;
  EXPECT_EQ(matrix("3 2 1\n2 7\n1 7 3 9\n2 9\n")[1][2].item<double>(), 9);
}

// A cycle of six as METIS has it, where every list has two neighbours.
TEST_F(GraphFile, ListsOfNeighboursAreNoEdges) {
  const std::string cycle = "2 6\n1 3\n2 4\n3 5\n4 6\n5 1\n";
  const torch::Tensor six = matrix("1 2\n2 3\n3 4\n4 5\n5 6\n6 1\n");
  EXPECT_TRUE(torch::equal(matrix("6 6\n" + cycle), six));
  EXPECT_TRUE(torch::equal(matrix("% of METIS\n6 6\n% neighbours\n" + cycle), six));
  EXPECT_EQ(read("7 6\n" + cycle + "\n").reading->isolated_vertices, 1);
  const Graph gap = read("7 6\n2 7\n1 3\n2 5\n\n3 6\n5 7\n6 1\n");  // vertex 4 is isolated
  EXPECT_EQ(gap.edges.size(0), 6);
  EXPECT_FALSE((gap.edges == 3).any().item<bool>());
  EXPECT_EQ(read("4 6 0\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n").edges.size(0), 6);
  EXPECT_EQ(read("4 4\n2 3\n1 3\n1 2 4\n3\n").edges.size(0), 4);
  EXPECT_EQ(read("3 3\n2 3\n1 3\n1 2\n").edges.size(0), 3);  // a triangle either way
  EXPECT_EQ(read("4 4\n1 2\n2 3\n3 4\n4 1\n").edges.size(0), 4);
  EXPECT_EQ(read("6 6\n2 6\n1 3\n2 4\n3 5\n4 6\n5 2\n").edges.size(0), 6);  // not symmetric
  EXPECT_ERROR(read("4 4 10\n5 2 4\n6 1 3\n7 2 4\n8 1 3\n"),
               "line 2: vertex 1 has the weight 5; weights of vertices other than 1 are not");
  EXPECT_ERROR(read("3 2\n2 3\n1\n2\n"),
               "line 2: vertex 1 has the neighbour 3, which does not list it");
  EXPECT_ERROR(read("3 2 1\n2 7\n1 7 3 9\n2 8\n"), "vertex 2 has the neighbour 3, which does not");
  EXPECT_ERROR(read("3 3\n2\n1 3\n2\n"), "the header gives 3 edges, but the file has 2");
  EXPECT_ERROR(read("3 2 1\n2 7\n1 7 3 9 2\n2 9\n"), "line 3 has 5 words; in this METIS file");
  EXPECT_ERROR(read("3 2\n2\n1 9\n2\n"), "line 3: vertex 9 is not between 1 and 3");
}

TEST_F(GraphFile, WhatIsNoGraphIsRefusedByLine) {
  const std::string file = (scratch_ / "graph.txt").string();
  EXPECT_ERROR(read("1 2\n3 3\n"), file + ": line 2: the edge joins vertex 3 with itself");
  EXPECT_ERROR(read("3 2\n1 2 1\n2 4 1\n"), "line 3: vertex 4 is not between 1 and 3");
  EXPECT_ERROR(read("3 2\n0 2 1\n2 3 1\n"), "line 3: vertex 3 is not between 0 and 2");
  EXPECT_ERROR(read("p edge 3 2\ne 0 2\ne 1 2\n"), "line 2: vertex 0 is not between 1 and 3");
  EXPECT_ERROR(read("1 2\n2 x\n"), "line 2: 'x' is not a vertex; a whole number is needed");
  EXPECT_ERROR(read("1 2\n2 -3\n"), "line 2: '-3' is not a vertex");
  EXPECT_ERROR(read("1 2 1\n2 3 heavy\n"), "line 2: 'heavy' is not a weight");
  EXPECT_ERROR(read("1 2 1\n2 3 inf\n"), "line 2: 'inf' is not a weight");
  EXPECT_ERROR(read("1 2\n2 3 4 5\n"), "line 2 has 4 words");
  EXPECT_ERROR(read("1 2 1\n2 3\n"),
               "line 2 has no weight, but line 1 has a weight; either all edges");
  EXPECT_ERROR(read("e 1 2\ne 2 3\n"), "line 1: an edge 'e u v' comes before the header");
  EXPECT_ERROR(read("p sat 3 2\n"), "line 1: a DIMACS header must have the form 'p edge n m'");
  EXPECT_ERROR(read("p edge 3 2\nn 1 5\n"), "line 2: vertex 1 has the weight 5; weights of");
  EXPECT_ERROR(read("p edge 3 2\nx 1 5\n"), "line 2 begins with 'x'");
  EXPECT_ERROR(read("p edge 3 5\ne 1 2\n"), "the header gives 5 edges, but the file has 1");
  EXPECT_ERROR(read("800 19176\n1 2\n2 3\n"), "the header gives 19176 edges, but the file has 2");
  EXPECT_ERROR(read("3 9\n1 2 1\n2 3 1\n"), "the header gives 9 edges, but the file has 2");
  EXPECT_ERROR(read("p edge 99999999999 1\ne 1 2\n"), "99999999999 vertices; at most");
  EXPECT_ERROR(read("0 99999999999\n"), "vertex 99999999999 is not between");
  EXPECT_ERROR(read("# nothing\n"), "not a graph: the file has no edges");
  EXPECT_ERROR(read("p edge 3 0\n"), "not a graph: the file has no edges");
  EXPECT_ERROR(read(std::string("1 2\n\0\n", 6)), "not a graph: the file is not text");
  EXPECT_ERROR(read("\xff\xfe 1 2\n"), "not a graph: the file is not text");
  EXPECT_ERROR(read("hello world\n"), "line 1: 'hello' is not a vertex");
  EXPECT_ERROR(read("1\n2\n"), "line 1 has 1 word; an edge needs two vertices");
  EXPECT_ERROR(read("1,2\n2,,3\n"), "line 2: '' is not a vertex");
  EXPECT_ERROR(read("1 2,3\n"), "line 1: '1 2' is not a vertex");
  EXPECT_ERROR(read("a,b,c,d\n1,2,3,4\n"), "line 1 names 4 columns, a, b, c, d; a CSV file");
  EXPECT_ERROR(read("1 2 {}\n2 3 {'weight': 1}\n"), "line 2 has a weight, but line 1 has no");
  EXPECT_ERROR(read("1 2 {'weight': x}\n"), "line 1: 'x' is not a weight");
  EXPECT_ERROR(read("1.5 2\n"), "line 1: '1.5' is not a vertex");
  const auto matrix = [&](const std::string& kind, const std::string& rest) {
    return read("%%MatrixMarket matrix " + kind + "\n" + rest);
  };
  EXPECT_ERROR(matrix("array real general", "2 2\n0\n1\n1\n0\n"), "holds 'matrix array'");
  EXPECT_ERROR(matrix("coordinate complex general", "2 2 1\n1 2 1 0\n"), "these are 'complex'");
  EXPECT_ERROR(matrix("coordinate real skew-symmetric", "2 2 1\n2 1 1\n"), "is 'skew-symmetric'");
  EXPECT_ERROR(matrix("coordinate real general", "2 3 1\n2 1 1\n"),
               "line 2: the matrix has 2 rows and 3 columns; it must be square");
  EXPECT_ERROR(matrix("coordinate real general", "3 3 2\n2 1 1\n"), "gives 2 edges, but the file");
  EXPECT_ERROR(matrix("coordinate real general", "3 3 2\n2 1 1\n1 2 4\n"), "1 2 has the weight 4");
  EXPECT_ERROR(matrix("coordinate pattern general", "3 3 1\n2 1 1\n"), "line 3 has 3 words");
  EXPECT_ERROR(matrix("coordinate real general", "3 3 1\n2 2 1\n"), "joins vertex 2 with itself");
  EXPECT_ERROR(matrix("coordinate real general", ""), "must be followed by a line");
}

TEST_F(GraphFile, AByteOrderMarkIsNoWord) {
  EXPECT_TRUE(torch::equal(matrix(std::string("\xef\xbb\xbf") + kPath), matrix(kPath)));
}

TEST_F(GraphFile, TheComplementHasTheOtherPairs) {
  const Graph graph = read("5 4\n1 2\n1 5\n3 4\n2 3\n"), other = complement_of(graph, "it");
  EXPECT_EQ(other.edges.size(0), 6);
  const torch::Tensor both = torch::cat({graph.edges, other.edges});
  const torch::Tensor number = both.select(1, 0) * 5 + both.select(1, 1);
  EXPECT_EQ(std::get<0>(at::_unique(number)).numel(), 10);
  EXPECT_TRUE((both.select(1, 0) < both.select(1, 1)).all().item<bool>());
  EXPECT_ERROR(complement_of(read("p edge 100000 1\ne 1 2\n"), "it"),
               "it: 4999949999 pairs of vertices are not joined by an edge");
}

}  // namespace
}  // namespace isinglass::graph_file_test
