// Energies of discrete models by plain loops in double precision over a parameter file's tensors.
#pragma once

#include "tests/models/samples.h"

namespace isinglass {

double bernoulli_energy(const NamedTensors& file, const Values& x);
double categorical_energy(const NamedTensors& file, const Values& x);
double ising_energy(const NamedTensors& file, const Values& x);
double potts_energy(const NamedTensors& file, const Values& x);
double parity_energy(const NamedTensors& file, const Values& x);
double permutation_energy(const NamedTensors& file, const Values& x);
double rbm_energy(const NamedTensors& file, const Values& x);
double categorical_rbm_energy(const NamedTensors& file, const Values& x);
double fhmm_energy(const NamedTensors& file, const Values& x);
double logistic_energy(const NamedTensors& file, const Values& beta);
double lattice_gaussian_energy(const NamedTensors& file, const Values& x);
double quartic_energy(const NamedTensors& file, const Values& x);
// categories: of the one-hot input; 0 if the input holds the values themselves.
double mlp_energy(const NamedTensors& file, const Values& x, int categories);
double continuous_mlp_energy(const NamedTensors& file, const RealValues& x);

}  // namespace isinglass
