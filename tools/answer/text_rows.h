// The texts of a file, one after the other.
#pragma once
#include <functional>
#include <string>

#include "options/data_options.h"

// Calls use(text) for each row of a file in one of the formats of training, or for each line. Error, naming the text, if
// `use` throws one, or if the model of the checkpoint doesn't read such rows.
// `columns` are the text's columns if the form names none; if this is empty, too, they are detected. If it names a
// second text, a line holds both texts of a pair, separated by a tab.
void for_each_text(const std::string& file, const DataOptions& form, const TextColumns& columns,
                   const weft::Checkpoint& checkpoint, const std::function<void(const std::string&)>& use);

// The pair of texts (weft::text_pair) that a line holds. Throws an Error unless the line has one tab, between the two.
std::string pair_of_line(const std::string& line);
