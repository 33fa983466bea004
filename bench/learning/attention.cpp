// weft-attention is the weft command with the architectures of models/examples in addition to the built-in ones.
#include "models/examples/attention/attention.h"
#include "models/examples/amlp/amlp.h"
#include "tools/console/command.h"

int main(int argc, char** argv) {
  weft::register_architecture(attention::Transformer::architecture());
  weft::register_architecture(amlp::Amlp::architecture());
  return run_command(argc, argv);
}
