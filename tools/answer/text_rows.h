// The texts of a file, one after the other.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "options/data_options.h"

// Calls use(text) for each row of a file in one of the formats of training, or for each line. Error, naming the text, if
// `use` throws one, or if the model of the checkpoint doesn't read such rows.
// `columns` are the text's columns if the form names none; if this is empty, too, they are detected.
void for_each_text(const std::string& file, const DataOptions& form, const std::vector<std::string>& columns,
                   const weft::Checkpoint& checkpoint, const std::function<void(const std::string&)>& use);

// The text columns of the run that run.json describes.
std::vector<std::string> columns_of_run(const std::string& run);
