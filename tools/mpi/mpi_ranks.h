// The module weft-mpi, which the command loads when mpirun started it: without it no library of MPI's is loaded.
#pragma once
#include <weft/ranks.h>

struct MpiStart {
  weft::Ranks* ranks;   // to be deleted, which ends MPI; null if this process is alone
  int on_this_machine;  // ranks
  const char* error;    // or null
};

constexpr const char* mpi_module = "weft-mpi.so";
constexpr const char* mpi_start_name = "weft_start_mpi";  // an MpiStart(void)
