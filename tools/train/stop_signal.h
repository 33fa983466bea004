// Signals that ask weft train to stop.
#pragma once
#include <weft/ranks.h>

// After this call, the first signal asks the run to stop, and a second one ends the program. `ranks` is null without
// mpirun.
void stop_on_signals(const weft::Ranks* ranks);
// Returns the signal that asked the run to stop, or 0.
int stop_signal();
