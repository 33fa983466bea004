// The module weft-mpi. The command loads this module, and with it the MPI library, only if mpirun started the command.
#pragma once
#include <weft/ranks.h>

struct MpiStart {
  weft::Ranks* ranks;   // null if this process is the only one; deleting the object ends MPI
  int on_this_machine;  // number of ranks on this machine
  const char* error;    // null if there was no error
};

constexpr const char* mpi_module = "weft-mpi.so";
constexpr const char* mpi_start_name = "weft_start_mpi";  // of type MpiStart(void)
