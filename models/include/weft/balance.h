/// \file
/// Balancing of classes that occur with different frequencies, and losses other than a task's default.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/objective.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// How training balances frequent and rare classes.
enum class Balance {
  none,     ///< every row has the same weight
  weights,  ///< the loss of each row is multiplied by its class's weight in balanced_weights()
  rows,     ///< an epoch consists of the rows that balanced_rows() returns
};

const char* balance_name(Balance balance) noexcept;  ///< "none", "weights", "rows"
Balance balance_from_name(const std::string& name);  ///< throws an Error for an unknown name
std::vector<std::string> balances();                 ///< the names of all values

/// What a run minimizes in training and measures in validation. The frequency of classes comes from the training set.
struct LearningOptions {
  Balance balance = Balance::none;  ///< any value for classifiers; none or weights for tagging; none for other tasks
  double focal_gamma = 0;           ///< see ObjectiveOptions
  double huber_delta = 0;           ///< see ObjectiveOptions
};

/// Returns the weight n / (c · n_k) of each class k, where n is the number of targets, n_k is the number of targets of
/// class k, and c is the number of classes that occur. The mean weight of the targets is then 1, and all classes that
/// occur have the same total weight. These are the weights of scikit-learn's class_weight="balanced". A class that
/// doesn't occur gets the weight 1. Targets of -100 are not counted.
std::vector<double> balanced_weights(const std::vector<std::int64_t>& targets, std::int64_t classes);

/// Returns the row numbers of an epoch in which every class that occurs has as many rows as the most frequent class. If
/// class k has n_k rows and the most frequent class has `most` rows, each row of class k appears most / n_k times,
/// rounded up for the first most % n_k rows of the class and down for the others.
std::vector<std::int64_t> balanced_rows(const std::vector<std::int64_t>& targets, std::int64_t classes);

/// Returns the objective for a task, or null if the options ask for the task's default. `targets` are the classes of
/// the training rows or tokens. Throws an Error for an option that the task doesn't support.
std::shared_ptr<const Objective> objective_for(Task task, const std::vector<std::string>& outputs,
                                               const LearningOptions& options,
                                               const std::vector<std::int64_t>& targets);

}  // namespace weft
WEFT_PUBLIC_END
