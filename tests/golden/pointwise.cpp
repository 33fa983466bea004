// Golden kinds: activation, softmax, cross_entropy.
#include "golden.h"

namespace weft::golden {
namespace {

Activation activation_named(const std::string& name) {
  try {
    return activation_from_name(name);
  } catch (const Error& error) {
    throw Refused(error.what());
  }
}

const Kind activation_kind{"activation", [](Case& c) {
                             c.expect_keys({"name"});
                             return activation(c.input("x"), activation_named(c.config<std::string>("name")));
                           }};

const Kind softmax_kind{"softmax", [](Case& c) {
                          c.expect_keys({"dim"});
                          return softmax(c.input("x"), c.config<std::int64_t>("dim"));
                        }};

const Kind cross_entropy_kind{"cross_entropy", [](Case& c) {
                                c.expect_keys({"ignore_index", "reduction"});
                                const auto reduction = c.config<std::string>("reduction");
                                if (reduction != "mean")
                                  throw Refused("reduction \"" + reduction + "\": expected mean");
                                return cross_entropy(c.input("logits"), c.integers("target"),
                                                     c.config<std::int64_t>("ignore_index"));
                              }};

}  // namespace
}  // namespace weft::golden
