/// \file
/// Classes of different frequency, and losses other than a task's usual one.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/objective.h"

#pragma GCC visibility push(default)
namespace weft {

/// How training treats classes of different frequency.
enum class Balance {
  none,     ///< every row counts once
  weights,  ///< the loss of a row is weighted by balanced_weights()
  rows,     ///< an epoch has the rows of balanced_rows()
};

const char* balance_name(Balance balance) noexcept;  ///< "none", "weights", "rows"
Balance balance_from_name(const std::string& name);  ///< throws an Error if there is none
std::vector<std::string> balances();                 ///< their names

/// What a run minimizes, in training and in validation. The classes are counted in the training rows.
struct LearningOptions {
  Balance balance = Balance::none;  ///< classifier: any; tagging: none or weights; other tasks: none
  double focal_gamma = 0;           ///< see ObjectiveOptions
  double huber_delta = 0;           ///< see ObjectiveOptions
};

/// The weight n / (c · n_k) of each class k, for n targets of which n_k are of class k, and c classes that occur: the
/// mean weight of the targets is 1, and all classes weigh the same in total. As scikit-learn's class_weight="balanced".
/// A class that doesn't occur has the weight 1. Targets of -100 are not counted.
std::vector<double> balanced_weights(const std::vector<std::int64_t>& targets, std::int64_t classes);

/// The numbers of the rows of an epoch in which each class that occurs has as many rows as the most frequent one: each
/// row of a class of n_k rows appears most / n_k times, rounded up for the first most % n_k of them.
std::vector<std::int64_t> balanced_rows(const std::vector<std::int64_t>& targets, std::int64_t classes);

/// The objective of data for a task, or null if it is the task's usual one. `targets` are the classes of the training
/// rows or tokens. Throws an Error for an option that the task doesn't have.
std::shared_ptr<const Objective> objective_for(Task task, const std::vector<std::string>& outputs,
                                               const LearningOptions& options,
                                               const std::vector<std::int64_t>& targets);

}  // namespace weft
#pragma GCC visibility pop
