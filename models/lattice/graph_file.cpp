// Implements the parser of the graph formats, and the recognition of formats that are refused.
#include "models/lattice/graph_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "io/error.h"
#include "io/files.h"
#include "io/pt/utf8.h"

namespace isinglass {
namespace {

constexpr int64_t kMostVertices = 1 << 24, kMostEdges = 1 << 25;

struct Line {
  int64_t number;
  int64_t place;  // position among the lines that are not comments, blank ones included
  std::vector<std::string_view> words;
};

struct Edge {
  int64_t line, u, v;
  double weight;
};

struct Header {
  int64_t vertices, edges;
};

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  std::vector<std::string_view> words;
  for (size_t at = text.find_first_not_of(kSpace); at != text.npos;) {
    const size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpace, end);
  }
  return words;
}

template <class T>
std::optional<T> number_of(std::string_view word) {
  T value{};
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || rest != word.data() + word.size()) return std::nullopt;
  return value;
}

// Returns V if the comment is "optimum V", "optimum: V" or "optimum = V", followed by nothing but
// text in parentheses.
std::optional<double> optimum_in(std::vector<std::string_view> comment) {
  comment[0].remove_prefix(
      comment[0] == "c" ? 1 : std::min(comment[0].find_first_not_of("#%"), comment[0].size()));
  if (comment[0].empty()) comment.erase(comment.begin());
  if (comment.size() < 2 || (comment[0] != "optimum" && comment[0] != "optimum:")) return {};
  const size_t value = comment[1] == "=" ? 2 : 1, behind = value + 1;
  if (value >= comment.size()) return {};
  if (behind < comment.size() && comment[behind][0] != '(') return {};
  return number_of<double>(comment[value]);
}

class GraphReader {
 public:
  explicit GraphReader(const std::filesystem::path& file) : source_(file.string()) {
    text_ = read_file(file);
    if (text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);  // a byte-order mark
    const bool control = std::any_of(text_.begin(), text_.end(), [](unsigned char c) {
      return c < ' ' && c != '\n' && c != '\r' && c != '\t';
    });
    require(!control && is_utf8(text_), "{} is not a graph: the file is not text", source_);
    split_lines();
    require(!lines_.empty(), "{} is not a graph: the file has no edges", source_);
  }

  Graph read() {
    if (lines_[0].words[0] == "p") {
      read_dimacs();
    } else {
      read_edge_list();
    }
    return graph();
  }

 private:
  void split_lines() {
    const std::string_view text = text_;
    int64_t number = 0, place = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::vector<std::string_view> words = words_of(text.substr(at, end - at));
      at = end + 1;
      ++number;
      if (!words.empty() && (words[0][0] == '#' || words[0][0] == '%' || words[0] == "c")) {
        require(words[0] != "%%MatrixMarket" && words[0] != "%MatrixMarket",
                "{}: line {}: this is a MatrixMarket file, which cannot be read; remove its first "
                "lines, through the line of three sizes, to leave an edge list, which can be read",
                source_, number);
        if (const auto value = optimum_in(words)) optimum_ = value;
        continue;
      }
      if (!words.empty()) lines_.push_back({number, place, std::move(words)});
      ++place;
    }
  }

  int64_t whole(const Line& line, size_t word, const char* what) const {
    const auto value = number_of<int64_t>(line.words[word]);
    require(value && *value >= 0, "{}: line {}: '{}' is not a {}; a whole number is needed",
            source_, line.number, line.words[word].substr(0, 40), what);
    return *value;
  }

  double weight(const Line& line, size_t word) const {
    const auto value = number_of<double>(line.words[word]);
    require(value && std::isfinite(*value), "{}: line {}: '{}' is not a weight; a number is needed",
            source_, line.number, line.words[word].substr(0, 40));
    return *value;
  }

  // Parses u v [weight], starting at the word `first`.
  Edge edge(const Line& line, size_t first) const {
    const size_t words = line.words.size() - first;
    require(
        words != 1 || line.words[first].find(',') == std::string_view::npos,
        "{}: line {}: '{}' has commas; vertices and weights must be separated by spaces or tabs",
        source_, line.number, line.words[first].substr(0, 40));
    require(words == 2 || words == 3,
            "{}: line {} has {} word{}; an edge needs two vertices and may have a weight", source_,
            line.number, words, words == 1 ? "" : "s");
    return {line.number, whole(line, first, "vertex"), whole(line, first + 1, "vertex"),
            words == 3 ? weight(line, first + 2) : 1};
  }

  void read_dimacs() {
    const Line& head = lines_[0];
    require(head.words.size() == 4 && (head.words[1] == "edge" || head.words[1] == "col"),
            "{}: line {}: a DIMACS header must have the form 'p edge n m'", source_, head.number);
    header_ = {whole(head, 2, "number of vertices"), whole(head, 3, "number of edges")};
    for (size_t i = 1; i < lines_.size(); ++i) {
      require(
          lines_[i].words[0] == "e",
          "{}: line {} begins with '{}'; after the DIMACS header edges must have the form 'e u v'",
          source_, lines_[i].number, lines_[i].words[0].substr(0, 40));
      edges_.push_back(edge(lines_[i], 1));
    }
    first_vertex_ = 1;
    form_ = "p edge n m";
    // Some published files list, or count, every edge in both directions.
    const auto listed = static_cast<int64_t>(edges_.size()), said = header_->edges;
    check_count(listed == said || listed == 2 * said || 2 * listed == said);
  }

  void read_edge_list() {
    require(lines_[0].words[0] != "e",
            "{}: line {}: an edge 'e u v' comes before the header 'p edge n m'", source_,
            lines_[0].number);
    refuse_neighbour_lists();
    for (const Line& line : lines_) edges_.push_back(edge(line, 0));
    take_header();
    for (const Line& line : lines_) {
      require(line.words.size() == lines_[0].words.size(),
              "{}: line {} has {} words, but line {} has {}; either all edges must have a weight "
              "or none",
              source_, line.number, line.words.size(), lines_[0].number, lines_[0].words.size());
    }
    const bool from_zero = std::any_of(edges_.begin(), edges_.end(),
                                       [](const Edge& e) { return e.u == 0 || e.v == 0; });
    first_vertex_ = from_zero ? 0 : 1;
  }

  // Throws Error if the text is a METIS file. Such a file starts with n m and, optionally, a format
  // of up to three digits 0 or 1. Then it has one line for each vertex, from 1, with the vertex's
  // neighbours. If the last digit is 1, each neighbour is followed by the weight of the edge; for
  // every other digit that is 1, one number of the vertex comes first. Lists of two or three words
  // could be mistaken for edges.
  void refuse_neighbour_lists() const {
    const Line& head = lines_[0];
    if (head.words.size() < 2 || head.words.size() > 3) return;
    const auto n = number_of<int64_t>(head.words[0]), m = number_of<int64_t>(head.words[1]);
    const std::string_view format = head.words.size() == 3 ? head.words[2] : "0";
    if (!n || !m || format.size() > 3 || format.find_first_not_of("01") != format.npos) return;
    const size_t own = std::count(format.begin(), format.end() - 1, '1');
    const size_t each = format.back() == '1' ? 2 : 1;
    std::vector<std::pair<int64_t, int64_t>> neighbours;
    for (size_t i = 1; i < lines_.size(); ++i) {
      const int64_t vertex = lines_[i].place - head.place;
      const std::vector<std::string_view>& words = lines_[i].words;
      if (vertex > *n || words.size() < own || (words.size() - own) % each != 0) return;
      for (size_t w = own; w < words.size(); w += each) {
        const auto neighbour = number_of<int64_t>(words[w]);
        if (!neighbour || *neighbour < 1 || *neighbour > *n || *neighbour == vertex) return;
        neighbours.emplace_back(vertex, *neighbour);
      }
    }
    if (std::ssize(neighbours) != 2 * *m) return;
    if (head.words.size() == 2 && is_edges_of(neighbours)) return;
    std::sort(neighbours.begin(), neighbours.end());
    const bool symmetric = std::all_of(neighbours.begin(), neighbours.end(), [&](const auto& pair) {
      return std::binary_search(neighbours.begin(), neighbours.end(),
                                std::pair(pair.second, pair.first));
    });
    require(!symmetric,
            "{}: line {}: this is a METIS file, whose lines after '{} {}' each hold the neighbours "
            "of a vertex, and cannot be read; a DIMACS file, which has a header 'p edge n m' and a "
            "line 'e u v' per edge, can be read",
            source_, head.number, *n, *m);
  }

  // Returns true if the lines after the first one, read as edges, give the same graph. This is so
  // for a triangle, for example.
  bool is_edges_of(const std::vector<std::pair<int64_t, int64_t>>& neighbours) const {
    std::set<std::pair<int64_t, int64_t>> listed, edges;
    for (const auto& [u, v] : neighbours) listed.insert(std::minmax(u, v));
    for (size_t i = 1; i < lines_.size(); ++i) {
      if (lines_[i].words.size() != 2) return false;
      edges.insert(std::minmax(*number_of<int64_t>(lines_[i].words[0]),
                               *number_of<int64_t>(lines_[i].words[1])));
    }
    return listed == edges;
  }

  // Takes the first line as a header n m if the other lines have weights and it has none, or if n
  // is at least as large as all vertices and m is either the number of edges or too large to be a
  // vertex.
  void take_header() {
    if (lines_[0].words.size() != 2 || edges_.size() < 2) return;
    int64_t largest = 0;
    for (size_t i = 1; i < edges_.size(); ++i) {
      largest = std::max({largest, edges_[i].u, edges_[i].v});
    }
    const Header head = {edges_[0].u, edges_[0].v};
    const bool counts = head.edges == static_cast<int64_t>(edges_.size()) - 1;
    const bool fits = head.vertices >= largest && (counts || head.edges > largest);
    if (lines_[1].words.size() != 3 && !fits) return;
    header_ = head;
    form_ = "n m";
    edges_.erase(edges_.begin());
    lines_.erase(lines_.begin());
    check_count(counts);
  }

  void check_count(bool right) const {
    require(right, "{}: the header gives {} edges, but the file has {}", source_, header_->edges,
            edges_.size());
  }

  Graph graph() {
    int64_t vertices = header_ ? header_->vertices : 0;
    for (Edge& e : edges_) {
      const int64_t last = first_vertex_ + (header_ ? header_->vertices : kMostVertices) - 1;
      for (const int64_t vertex : {e.u, e.v}) {
        require(vertex >= first_vertex_ && vertex <= last,
                "{}: line {}: vertex {} is not between {} and {}", source_, e.line, vertex,
                first_vertex_, last);
        if (!header_) vertices = std::max(vertices, vertex - first_vertex_ + 1);
      }
      require(e.u != e.v, "{}: line {}: the edge joins vertex {} with itself", source_, e.line,
              e.u);
      std::tie(e.u, e.v) = std::minmax({e.u - first_vertex_, e.v - first_vertex_});
    }
    require(vertices <= kMostVertices, "{} has {} vertices; at most {} are allowed", source_,
            vertices, kMostVertices);
    require(!edges_.empty(), "{} is not a graph: the file has no edges", source_);
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
    graph.reading = {form_, first_vertex_, vertices, edges, vertices - joined, given - edges};
    return graph;
  }

  void merge_repeated() {
    const auto ends = [](const Edge& e) { return std::pair(e.u, e.v); };
    std::stable_sort(edges_.begin(), edges_.end(),
                     [&](const Edge& a, const Edge& b) { return ends(a) < ends(b); });
    const auto same = [&](const Edge& a, const Edge& b) {
      require(ends(a) != ends(b) || a.weight == b.weight,
              "{}: line {}: the edge {} {} has the weight {}, but on line {} it has {}", source_,
              b.line, b.u + first_vertex_, b.v + first_vertex_, b.weight, a.line, a.weight);
      return ends(a) == ends(b);
    };
    edges_.erase(std::unique(edges_.begin(), edges_.end(), same), edges_.end());
  }

  std::string source_, text_;
  std::vector<Line> lines_;  // of the non-comment lines
  std::vector<Edge> edges_;
  std::optional<Header> header_;
  std::optional<double> optimum_;
  std::string form_ = "none";  // form of the header
  int64_t first_vertex_ = 0;
};

}  // namespace

Graph read_graph(const std::filesystem::path& file) {
  return GraphReader(file).read();
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
  require(count <= kMostEdges,
          "{}: {} pairs of vertices are not joined by an edge, and each is a constraint; at most "
          "{} are allowed",
          source, count, kMostEdges);
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
