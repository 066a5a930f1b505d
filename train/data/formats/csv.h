// Text files of numbers (.csv, .tsv, .txt, .dat, plain or gzipped), one row a line, as
// spreadsheets, pandas and numpy.savetxt write them. Words, comments and a byte-order mark are
// those of models/lattice/text_lines.h: numbers are separated by commas, by semicolons or by white
// space.
//
// A first line whose first word is not a number is a line of names, and so is one that counts the
// columns from 0, of which there are at least 16 (pandas names columns so that have no names).
// An empty field, and nan, are a missing value.
#pragma once

#include <filesystem>

#include "io/torch.h"

namespace isinglass {

// Returns the numbers [rows, columns]: int64 if all are written as whole numbers, else float64,
// with NaN for a missing value. Throws Error, naming the file and if possible the line, if a word
// is not a number, rows have different lengths, a column has no number, or there are no rows.
torch::Tensor read_csv(const std::filesystem::path& file);

}  // namespace isinglass
