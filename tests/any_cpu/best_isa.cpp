// The instruction set that weft chooses on this CPU, in a line.
#include <cstdio>

#include "weft/cpu.h"

int main() { std::puts(weft::isa_name(weft::best_isa())); }
