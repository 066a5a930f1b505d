// Sweeps of chromatic.h on a graph with neighbourhood tables (neighbourhood_table.h), for sixteen
// chains at a time (CPU). Chains at inverse temperatures are taken in their order, so that sixteen
// have few: a table of thresholds each.
#pragma once

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

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
void table_sweep(const NeighbourhoodTable&, const Colouring&, int64_t chains, int64_t steps,
                 const int64_t* rng, const int64_t* chain_ids, const TemperedThresholds* tempered,
                 uint8_t* x, double* energy, const StepCounts&);

}  // namespace isinglass::cpu
