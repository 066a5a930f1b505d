// The sweeps of chromatic_table.h of chains at inverse temperatures (CPU), which are taken in the
// order of these, so that sixteen have few: a table of thresholds each.
#pragma once

#include "kernels/gibbs/fast/chromatic_table.h"

namespace isinglass::cpu {

// Sites whose flip_energy is the same share a row, so that the tables of a regular lattice stay in the
// nearest cache.
struct TemperedThresholds {
  int64_t rows;
  const int32_t* row;    // [D]
  const double* beta;    // [T], rising
  const uint32_t* word;  // [T, rows, 16]: NeighbourhoodTable::threshold_word at each
  const int64_t* chain;  // [B]: the chains in the order of their β
  const int64_t* table;  // [B]: of each of them, in that order, which β
};

// row [D] → the number of rows.
int64_t find_rows(const NeighbourhoodTable&, int32_t* row);
// word [rows, 16] at a β.
void tabulate_thresholds(const NeighbourhoodTable&, const int32_t* row, double beta,
                         uint32_t* word);

// chromatic_sweep(): the same chains, draw for draw; tempered null: at β = 1.
void tempered_table_sweep(const NeighbourhoodTable&, const Colouring&, int64_t chains,
                          int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                          const TemperedThresholds* tempered, uint8_t* x, double* energy,
                          const StepCounts&);

}  // namespace isinglass::cpu
