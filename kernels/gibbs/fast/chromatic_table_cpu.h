// Performs the sweeps of chromatic_table.h for chains at several inverse temperatures (CPU). The
// chains are taken in the order of β, so that a group of sixteen has few distinct β. Each β has its
// own table of thresholds.
#pragma once

#include "kernels/gibbs/fast/chromatic_table.h"

namespace isinglass::cpu {

// Holds the threshold tables of all β. Sites with the same flip_energy share a row, so that the
// tables of a regular lattice stay in the nearest cache.
struct TemperedThresholds {
  int64_t rows;
  const int32_t* row;    // [D]. Site i uses the thresholds of row[i].
  const double* beta;    // [T]. The numbers increase.
  const uint32_t* word;  // [T, rows, 16]. Holds NeighbourhoodTable::threshold_word for each β.
  const int64_t* chain;  // [B]. Lists the chains in the order of β.
  const int64_t* table;  // [B]. Holds the index of each chain's β, in the same order.
};

// Writes the row of each site, row [D], and returns the number of rows.
int64_t find_rows(const NeighbourhoodTable&, int32_t* row);
// Writes the thresholds word [rows, 16] for one β.
void tabulate_thresholds(const NeighbourhoodTable&, const int32_t* row, double beta,
                         uint32_t* word);

// Performs chromatic_sweep() with the same random numbers and the same values; β = 1 if `tempered`
// is null.
void tempered_table_sweep(const NeighbourhoodTable&, const Colouring&, int64_t chains,
                          int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                          const TemperedThresholds* tempered, uint8_t* x, double* energy,
                          const StepCounts&);

}  // namespace isinglass::cpu
