// Saved states of texts, from which later requests go on, even after a restart. A state is a file with the symbols of
// a text, so it stays valid when the model is trained further. To go on, the model reads these symbols again.
#pragma once
#include <weft/tokenizer.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "serve/settings.h"

namespace serve {

class States {
 public:
  // Creates the folder Settings::states unless it is empty, which means that no states are saved. Throws an Error if
  // the folder can't be created.
  explicit States(const Settings& settings);

  // Returns the id of a new state. Deletes the states that were not used for the longest time if there are more than
  // Settings::max_states. Throws an HttpError if no states are saved, or if the file can't be written.
  std::string save(const std::string& model, const weft::Tokenizer& tokenizer,
                   const std::vector<std::int64_t>& symbols);
  // Returns the symbols of a state. Throws an HttpError if there is no such state, or if it belongs to another model or
  // to a tokenizer of another size.
  std::vector<std::int64_t> load(const std::string& id, const std::string& model,
                                 const weft::Tokenizer& tokenizer) const;
  // Throws an HttpError if no states are saved.
  void check_enabled() const;

 private:
  void remove_oldest() const;

  const Settings& settings_;
  std::mutex mutex_;  // only one thread counts and removes states
};

}  // namespace serve
