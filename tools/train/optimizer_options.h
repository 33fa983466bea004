// Options of weft train that choose and configure an optimizer.
#pragma once
#include <weft/optimizer.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

// Adds --optimizer, --weight-decay, --clip, and the options of all optimizers.
void add_optimizer_options(CLI::App& command, weft::OptimizerOptions& o);

// Lists the optimizers whose default learning rates differ from AdamW's: "; multiplied by 0.1 for lion".
std::string describe_usual_rates();

// Reads --rates: "embedding=0.1,head=2". Throws an Error for anything else.
std::vector<weft::ParameterGroup> groups_of(const std::string& rates);
