// weft-attention: the weft command, which knows the architectures of tests/examples besides its own.
#include "tests/examples/attention/attention.h"
#include "tests/examples/amlp/amlp.h"
#include "tools/command.h"

int main(int argc, char** argv) {
  weft::register_architecture(attention::Transformer::architecture());
  weft::register_architecture(amlp::Amlp::architecture());
  return run_command(argc, argv);
}
