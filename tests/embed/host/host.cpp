#include <weft/cpu.h>

bool host_uses_weft() { return weft::cpu_has(weft::best_isa()); }
