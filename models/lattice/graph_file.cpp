// Implements the parser of the graph formats, and the recognition of METIS files.
#include "models/lattice/graph_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "io/error.h"
#include "models/lattice/text_lines.h"

namespace isinglass {
namespace {

constexpr int64_t kMostFileVertices = 1 << 24, kMostFileEdges = 1 << 25;

struct FileEdge {
  int64_t line, u, v;
  double weight;
  bool weighted;  // the file gives the weight
};

struct Header {
  int64_t vertices, edges;
};

// Holds the first line of a METIS file: n m, then a format of up to three digits 0 or 1 and, if
// vertices have weights, their number of weights.
struct MetisHeader {
  int64_t vertices, edges;
  bool sizes, weighted_edges;  // each vertex has a size; each edge has a weight
  int64_t vertex_weights;      // weights of a vertex
  size_t own() const { return static_cast<size_t>(sizes ? 1 : 0) + vertex_weights; }
};

class GraphReader {
 public:
  explicit GraphReader(const std::filesystem::path& file) : text_(file, "a graph") {
    for (const TextLine& comment : text_.comments()) {
      const auto said = named_in(comment, "optimum");
      const auto value = said ? number_of<double>(*said) : std::nullopt;
      if (value && std::isfinite(*value)) optimum_ = value;
    }
  }

  Graph read() {
    const auto matrix = text_.matrix_header();
    require(!lines().empty(), "{} is not a graph: the file has no edges", source());
    if (matrix) {
      read_matrix(*matrix);
    } else if (lines()[0].words[0] == "p") {
      read_dimacs();
    } else if (const auto metis = metis_header(); metis && is_metis(*metis)) {
      read_metis(*metis);
    } else {
      read_edge_list();
    }
    return graph();
  }

 private:
  const std::string& source() const { return text_.source(); }
  const std::vector<TextLine>& lines() const { return text_.lines(); }

  // Parses u v [weight], starting at the word `first`. The weight may be {} or {'weight': w}.
  FileEdge edge(const TextLine& line, size_t first) const {
    const size_t words = line.words.size() - first;
    require(words == 2 || words == 3,
            "{}: line {} has {} word{}; an edge needs two vertices and may have a weight", source(),
            line.number, words, words == 1 ? "" : "s");
    FileEdge edge = {line.number, text_.whole(line, first, "vertex"),
                     text_.whole(line, first + 1, "vertex"), 1, false};
    if (words == 2) return edge;
    if (line.words[first + 2].starts_with('{')) {
      const auto weight = weight_in(line, line.words[first + 2]);
      edge.weighted = weight.has_value();
      edge.weight = weight.value_or(1);
    } else {
      edge.weighted = true;
      edge.weight = text_.real(line, first + 2, "weight");
    }
    return edge;
  }

  // Returns w of the attributes {'weight': w, …} that networkx writes, or nothing if they have no
  // weight.
  std::optional<double> weight_in(const TextLine& line, std::string_view attributes) const {
    size_t at = attributes.find("'weight'");
    if (at == attributes.npos) at = attributes.find("\"weight\"");
    if (at == attributes.npos) return {};
    std::string_view rest = attributes.substr(at + std::string_view("'weight'").size());
    rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
    rest = rest.substr(0, rest.find_first_of(" ,}"));
    const TextLine weight = {line.number, line.place, false, {rest}};
    return text_.real(weight, 0, "weight");
  }

  void read_matrix(const MatrixHeader& matrix) {
    for (size_t i = 1; i < lines().size(); ++i) {
      const TextLine& line = lines()[i];
      const size_t words = matrix.pattern ? 2 : 3;
      require(line.words.size() == words,
              "{}: line {} has {} words; an entry of this MatrixMarket file must have {}", source(),
              line.number, line.words.size(), words);
      edges_.push_back(edge(line, 0));
    }
    format_ = "MatrixMarket";
    form_ = matrix.symmetric ? "MatrixMarket symmetric" : "MatrixMarket general";
    header_ = {matrix.size, matrix.entries};
    first_vertex_ = 1;
    check_count(matrix.entries == std::ssize(edges_));
  }

  void read_dimacs() {
    const TextLine& head = lines()[0];
    const std::string kind(head.words.size() == 4 ? head.words[1] : "");
    const bool pace = kind == "td" || kind == "tw";  // PACE: lines u v
    require(pace || kind == "edge" || kind == "edges" || kind == "col",
            "{}: line {}: a DIMACS header must have the form 'p edge n m'", source(), head.number);
    header_ = {text_.whole(head, 2, "number of vertices"), text_.whole(head, 3, "number of edges")};
    for (size_t i = 1; i < lines().size(); ++i) {
      const TextLine& line = lines()[i];
      if (line.words[0] == "n" && line.words.size() == 3) {
        check_vertex_weight(line, line.words[1], text_.real(line, 2, "weight"));
        continue;
      }
      require(pace || line.words[0] == "e",
              "{}: line {} begins with '{}'; after the DIMACS header edges must have the form "
              "'e u v'",
              source(), line.number, line.words[0].substr(0, 40));
      edges_.push_back(edge(line, line.words[0] == "e" ? 1 : 0));
    }
    first_vertex_ = 1;
    format_ = pace ? "PACE" : "DIMACS";
    form_ = pace ? "p td n m" : "p edge n m";
    // Some published files list, or count, every edge in both directions.
    const auto listed = std::ssize(edges_), said = header_->edges;
    check_count(listed == said || listed == 2 * said || 2 * listed == said);
  }

  // Throws Error unless the weight of a vertex is 1: the problems have no weights of vertices.
  void check_vertex_weight(const TextLine& line, std::string_view vertex, double weight) const {
    require(weight == 1,
            "{}: line {}: vertex {} has the weight {}; weights of vertices other than 1 are not "
            "supported",
            source(), line.number, vertex, weight);
  }

  void read_edge_list() {
    require(lines()[0].words[0] != "e",
            "{}: line {}: an edge 'e u v' comes before the header 'p edge n m'", source(),
            lines()[0].number);
    const bool names = skip_column_names();
    for (size_t i = names ? 1 : 0; i < lines().size(); ++i) edges_.push_back(edge(lines()[i], 0));
    require(!edges_.empty(), "{} is not a graph: the file has no edges", source());
    const auto last_word = lines().back().words.back();
    format_ = lines().back().separated     ? "CSV"
              : last_word.starts_with('{') ? "networkx"
                                           : "edge list";
    if (names) {
      form_ = "column names";
    } else {
      take_header();
    }
    const bool from_zero = std::any_of(edges_.begin(), edges_.end(),
                                       [](const FileEdge& e) { return e.u == 0 || e.v == 0; });
    first_vertex_ = from_zero ? 0 : 1;
    check_weights();
  }

  // Returns true if the first line of a CSV file names its columns.
  bool skip_column_names() const {
    const TextLine& head = lines()[0];
    const bool names = head.separated && std::none_of(head.words.begin(), head.words.end(),
                                                      [](std::string_view word) {
                                                        return number_of<double>(word).has_value();
                                                      });
    require(!names || head.words.size() == 2 || head.words.size() == 3,
            "{}: line {} names {} columns, {}; a CSV file of edges needs two columns of vertices "
            "and may have one of weights",
            source(), head.number, head.words.size(), fmt::join(head.words, ", "));
    return names;
  }

  std::optional<MetisHeader> metis_header() const {
    const TextLine& head = lines()[0];
    if (head.words.size() < 2 || head.words.size() > 4 || head.separated) return {};
    const auto n = number_of<int64_t>(head.words[0]), m = number_of<int64_t>(head.words[1]);
    const std::string_view format = head.words.size() > 2 ? head.words[2] : "0";
    if (!n || !m || *n < 1 || *n > kMostFileVertices || *m < 1 || *m > kMostFileEdges) return {};
    if (format.size() > 3 || format.find_first_not_of("01") != format.npos) return {};
    const auto digit = [&](size_t from_right) {
      return from_right <= format.size() && format[format.size() - from_right] == '1';
    };
    const auto more = head.words.size() > 3 ? number_of<int64_t>(head.words[3]) : 1;
    if (!more || *more < 0 || *more > 100) return {};
    return MetisHeader{*n, *m, digit(3), digit(1), digit(2) ? *more : 0};
  }

  // Returns true if the lines after the first one are the lists of neighbours of a METIS file: one
  // line for each vertex, from 1. Lists of two or three words could be mistaken for edges, so that
  // they must be symmetric and say something else than these edges would. Otherwise the number of
  // lines and their lengths decide, and read_metis() refuses what is wrong.
  bool is_metis(const MetisHeader& head) const {
    if (lines().size() < 2) return false;
    const bool edge_lengths = std::all_of(
        lines().begin() + 1, lines().end(),
        [](const TextLine& line) { return line.words.size() == 2 || line.words.size() == 3; });
    const int64_t last = lines().back().place - lines()[0].place;
    if (!edge_lengths) {
      const bool whole = std::all_of(lines().begin() + 1, lines().end(), [](const TextLine& line) {
        return std::all_of(line.words.begin(), line.words.end(), [](std::string_view word) {
          return number_of<int64_t>(word).has_value();
        });
      });
      return whole && last <= head.vertices && head.vertices > 1;
    }
    std::vector<std::pair<int64_t, int64_t>> neighbours;
    if (last > head.vertices) return false;
    const size_t each = head.weighted_edges ? 2 : 1;
    for (size_t i = 1; i < lines().size(); ++i) {
      const TextLine& line = lines()[i];
      const int64_t vertex = line.place - lines()[0].place;
      if (line.words.size() < head.own() || (line.words.size() - head.own()) % each != 0)
        return false;
      for (size_t w = head.own(); w < line.words.size(); w += each) {
        const auto neighbour = number_of<int64_t>(line.words[w]);
        const bool fits = neighbour && *neighbour >= 1 && *neighbour <= head.vertices;
        if (!fits || *neighbour == vertex) return false;
        neighbours.emplace_back(vertex, *neighbour);
      }
    }
    if (std::ssize(neighbours) != 2 * head.edges) return false;
    if (lines()[0].words.size() == 2 && is_edges_of(neighbours)) return false;
    std::sort(neighbours.begin(), neighbours.end());
    return std::all_of(neighbours.begin(), neighbours.end(), [&](const auto& pair) {
      return std::binary_search(neighbours.begin(), neighbours.end(),
                                std::pair(pair.second, pair.first));
    });
  }

  // Returns true if the lines after the first one, read as edges, give the same graph. This is so
  // for a triangle, for example.
  bool is_edges_of(const std::vector<std::pair<int64_t, int64_t>>& neighbours) const {
    std::set<std::pair<int64_t, int64_t>> listed, edges;
    for (const auto& [u, v] : neighbours) listed.insert(std::minmax(u, v));
    for (size_t i = 1; i < lines().size(); ++i) {
      if (lines()[i].words.size() != 2) return false;
      edges.insert(std::minmax(*number_of<int64_t>(lines()[i].words[0]),
                               *number_of<int64_t>(lines()[i].words[1])));
    }
    return listed == edges;
  }

  void read_metis(const MetisHeader& head) {
    const size_t each = head.weighted_edges ? 2 : 1;
    std::vector<FileEdge> listed;
    for (size_t i = 1; i < lines().size(); ++i) {
      const TextLine& line = lines()[i];
      const int64_t vertex = line.place - lines()[0].place;
      require(vertex <= head.vertices,
              "{}: line {}: this METIS file has more lines than its header has vertices, {}",
              source(), line.number, head.vertices);
      const size_t own = head.own();
      require(line.words.size() >= own && (line.words.size() - own) % each == 0,
              "{}: line {} has {} words; in this METIS file it must have {} number{} of the vertex "
              "and {} for every neighbour",
              source(), line.number, line.words.size(), own, own == 1 ? "" : "s", each);
      for (size_t w = head.sizes ? 1 : 0; w < own; ++w) {
        check_vertex_weight(line, std::to_string(vertex), text_.real(line, w, "weight"));
      }
      for (size_t w = own; w < line.words.size(); w += each) {
        const int64_t neighbour = text_.whole(line, w, "vertex");
        require(neighbour >= 1 && neighbour <= head.vertices,
                "{}: line {}: vertex {} is not between 1 and {}", source(), line.number, neighbour,
                head.vertices);
        const double weight = each == 2 ? text_.real(line, w + 1, "weight") : 1;
        listed.push_back({line.number, vertex, neighbour, weight, each == 2});
      }
    }
    check_both_ends(listed);
    for (const FileEdge& e : listed) {
      require(e.u != e.v, "{}: line {}: the edge joins vertex {} with itself", source(), e.line,
              e.u);
      if (e.u < e.v) edges_.push_back(e);
    }
    format_ = "METIS";
    form_ = "METIS n m";
    first_vertex_ = 1;
    header_ = {head.vertices, head.edges};
    check_count(std::ssize(edges_) == head.edges);
  }

  // Throws Error unless every neighbour lists the vertex, too, with the same weight.
  void check_both_ends(const std::vector<FileEdge>& listed) const {
    const auto key = [](const FileEdge& e) { return std::tuple(e.u, e.v, e.weight); };
    std::vector<std::tuple<int64_t, int64_t, double>> keys;
    for (const FileEdge& e : listed) keys.push_back(key(e));
    std::sort(keys.begin(), keys.end());
    for (const FileEdge& e : listed) {
      require(std::binary_search(keys.begin(), keys.end(), std::tuple(e.v, e.u, e.weight)),
              "{}: line {}: vertex {} has the neighbour {}, which does not list it with the same "
              "weight; METIS files must list every edge at both ends",
              source(), e.line, e.u, e.v);
    }
  }

  // Takes the first edge as a header n m if the others have weights and it has none, or if n is at
  // least as large as all vertices and m is either the number of edges or too large to be a vertex.
  void take_header() {
    if (lines()[0].words.size() != 2 || edges_.size() < 2) return;
    int64_t largest = 0;
    for (size_t i = 1; i < edges_.size(); ++i) {
      largest = std::max({largest, edges_[i].u, edges_[i].v});
    }
    const Header head = {edges_[0].u, edges_[0].v};
    const bool counts = head.edges == std::ssize(edges_) - 1;
    const bool fits = head.vertices >= largest && (counts || head.edges > largest);
    if (!edges_[1].weighted && !fits) return;
    header_ = head;
    format_ = "G-set";
    form_ = "n m";
    edges_.erase(edges_.begin());
    check_count(counts);
  }

  void check_weights() const {
    for (const FileEdge& e : edges_) {
      const auto has = [](const FileEdge& edge) {
        return edge.weighted ? "a weight" : "no weight";
      };
      require(e.weighted == edges_[0].weighted,
              "{}: line {} has {}, but line {} has {}; either all edges must have a weight or none",
              source(), e.line, has(e), edges_[0].line, has(edges_[0]));
    }
  }

  void check_count(bool right) const {
    require(right, "{}: the header gives {} edges, but the file has {}", source(), header_->edges,
            edges_.size());
  }

  Graph graph() {
    int64_t vertices = header_ ? header_->vertices : 0;
    for (FileEdge& e : edges_) {
      const int64_t last = first_vertex_ + (header_ ? header_->vertices : kMostFileVertices) - 1;
      for (const int64_t vertex : {e.u, e.v}) {
        require(vertex >= first_vertex_ && vertex <= last,
                "{}: line {}: vertex {} is not between {} and {}", source(), e.line, vertex,
                first_vertex_, last);
        if (!header_) vertices = std::max(vertices, vertex - first_vertex_ + 1);
      }
      require(e.u != e.v, "{}: line {}: the edge joins vertex {} with itself", source(), e.line,
              e.u);
      std::tie(e.u, e.v) = std::minmax({e.u - first_vertex_, e.v - first_vertex_});
    }
    require(vertices <= kMostFileVertices, "{} has {} vertices; at most {} are allowed", source(),
            vertices, kMostFileVertices);
    require(!edges_.empty(), "{} is not a graph: the file has no edges", source());
    const auto given = static_cast<int64_t>(edges_.size());
    merge_repeated();
    Graph graph{vertices, torch::empty({static_cast<int64_t>(edges_.size()), 2}, torch::kInt64),
                torch::empty({static_cast<int64_t>(edges_.size())}, torch::kFloat64), optimum_};
    for (size_t i = 0; i < edges_.size(); ++i) {
      graph.edges.data_ptr<int64_t>()[2 * i] = edges_[i].u;
      graph.edges.data_ptr<int64_t>()[2 * i + 1] = edges_[i].v;
      graph.weight.data_ptr<double>()[i] = edges_[i].weight;
    }
    const auto edges = static_cast<int64_t>(edges_.size());
    const int64_t joined = std::get<0>(at::_unique(graph.edges)).numel();
    graph.reading = {format_,           form_,        first_vertex_, vertices, edges,
                     vertices - joined, given - edges};
    return graph;
  }

  void merge_repeated() {
    const auto ends = [](const FileEdge& e) { return std::pair(e.u, e.v); };
    std::stable_sort(edges_.begin(), edges_.end(),
                     [&](const FileEdge& a, const FileEdge& b) { return ends(a) < ends(b); });
    const auto same = [&](const FileEdge& a, const FileEdge& b) {
      require(ends(a) != ends(b) || a.weight == b.weight,
              "{}: line {}: the edge {} {} has the weight {}, but on line {} it has {}", source(),
              b.line, b.u + first_vertex_, b.v + first_vertex_, b.weight, a.line, a.weight);
      return ends(a) == ends(b);
    };
    edges_.erase(std::unique(edges_.begin(), edges_.end(), same), edges_.end());
  }

  TextLines text_;
  std::vector<FileEdge> edges_;
  std::optional<Header> header_;
  std::optional<double> optimum_;
  std::string format_, form_ = "none";  // form of the header
  int64_t first_vertex_ = 0;
};

}  // namespace

Graph read_graph(const std::filesystem::path& file) {
  return GraphReader(file).read();
}

bool is_graph_text(const std::filesystem::path& file) {
  const TextLines text(file, "a graph");
  if (text.lines().empty()) return false;
  const TextLine& head = text.lines()[0];
  return head.words[0] == "p" || number_of<double>(head.words[0]) ||
         (head.separated && head.words.size() <= 3);
}

Graph graph_of(int64_t vertices, const torch::Tensor& edges, const torch::Tensor& weight,
               const std::string& source) {
  const torch::Tensor ends = std::get<0>(edges.cpu().sort(1));
  const auto [key, order] = (ends.select(1, 0) * vertices + ends.select(1, 1)).sort();
  const torch::Tensor repeated = (key.diff() == 0).nonzero();
  if (repeated.numel() > 0) {
    const int64_t at = key[repeated[0].item<int64_t>()].item<int64_t>();
    fail("{}: tensor 'edges' has the edge {} {} twice", source, at / vertices, at % vertices);
  }
  return {vertices, ends.index_select(0, order).contiguous(),
          weight.cpu().to(torch::kFloat64).index_select(0, order)};
}

Graph complement_of(const Graph& graph, const std::string& source) {
  const int64_t n = graph.vertices, count = n * (n - 1) / 2 - graph.edges.size(0);
  require(count <= kMostFileEdges,
          "{}: {} pairs of vertices are not joined by an edge, and each is a constraint; at most "
          "{} are allowed",
          source, count, kMostFileEdges);
  Graph other{n, torch::empty({count, 2}, torch::kInt64), torch::ones({count}, torch::kFloat64),
              graph.optimum, graph.reading};
  const int64_t* edge = graph.edges.data_ptr<int64_t>();
  const int64_t* end = edge + graph.edges.numel();
  int64_t* pair = other.edges.data_ptr<int64_t>();
  for (int64_t u = 0; u < n; ++u) {
    for (int64_t v = u + 1; v < n; ++v) {
      if (edge != end && edge[0] == u && edge[1] == v) {  // both lists are sorted
        edge += 2;
        continue;
      }
      *pair++ = u;
      *pair++ = v;
    }
  }
  return other;
}

}  // namespace isinglass
