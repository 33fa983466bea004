// Signals that ask weft train to stop.
#pragma once
#include <weft/ranks.h>

// From here on the first signal asks the run to stop, and a second one ends the program. ranks: null if not under
// mpirun.
void stop_on_signals(const weft::Ranks* ranks);
// The signal that asked to stop, or 0.
int stop_signal();
