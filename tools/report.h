// What train and eval print at their end.
#pragma once
#include <weft/trainer.h>

// "validation loss X", and for classifiers "KIND accuracy X %".
void print_evaluation(const weft::Evaluation& evaluation, weft::Task task, const char* kind);
// "peak memory …", of this process.
void print_memory();
