// Splits the text of a graph, or of a quadratic function, into lines of words, and reads
// MatrixMarket headers. All formats share these rules:
//
//   words       are separated by spaces or tabs, or, in a line with commas or semicolons, by these
//   comments    are lines that begin with #, % or the word c, and the rest of a line after a word
//               that begins with # or %
//   braces      {…} are one word, for the attributes that networkx writes
//
// A byte-order mark at the start of the text is skipped.
#pragma once

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/torch.h"

namespace isinglass {

struct TextLine {
  int64_t number;  // counted from 1 over all lines of the file
  int64_t place;   // position among the lines that are not comments, blank ones included
  bool separated;  // its words are separated by commas or semicolons
  std::vector<std::string_view> words;
};

// Describes the square sparse matrix that a MatrixMarket file holds.
struct MatrixHeader {
  bool pattern;    // the entries have no values
  bool symmetric;  // one triangle is listed
  int64_t size, entries;
};

class TextLines {
 public:
  // Reads a file. `what` completes the sentence "FILE is not …" if it is not text.
  TextLines(const std::filesystem::path& file, const std::string& what);
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  const std::string& source() const { return source_; }
  const std::vector<TextLine>& lines() const { return lines_; }  // without comments and blank lines
  // Holds the words of every comment without the mark at its start.
  const std::vector<TextLine>& comments() const { return comments_; }

  // Return a word as a whole number ≥ 0, or as a finite number. Throw Error naming the line unless
  // it is one. `what` completes the sentence "'…' is not a …".
  int64_t whole(const TextLine& line, size_t word, const char* what) const;
  double real(const TextLine& line, size_t word, const char* what) const;

  // Returns the header of a MatrixMarket file, or nothing if the file is none. Throws Error if the
  // matrix is not square, sparse, real, and general or symmetric. The header's second part is then
  // lines()[0].
  std::optional<MatrixHeader> matrix_header() const;

 private:
  std::string source_, text_;
  std::vector<TextLine> lines_, comments_;
};

// Returns true if the first 4096 bytes of the file are text, and not the start of a parameter file.
bool is_text_file(const std::filesystem::path& file);

// Returns the number that the word is, or nothing. A sign + is allowed.
template <class T>
std::optional<T> number_of(std::string_view word);

// Returns V if the comment consists of `name V`, `name: V` or `name = V`, optionally followed by
// text in parentheses.
std::optional<std::string_view> named_in(const TextLine& comment, std::string_view name);

std::string lower_case(std::string_view word);  // of ASCII letters

}  // namespace isinglass
