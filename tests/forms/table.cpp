// Tests of the table of checkpoint formats.
#include <doctest/doctest.h>

#include "train_support.h"
#include "weft/checkpoint_form.h"

namespace weft::test {

TEST_CASE("checkpoint forms: the table, and a custom format") {
  CHECK(checkpoint_forms().front() == "weft");
  CHECK_THROWS_WITH((void)checkpoint_form("onnx"),
                    doctest::Contains("unknown format \"onnx\", expected one of weft, hugg"));
  CheckpointForm form;
  form.name = "nothing";
  CHECK_THROWS_WITH(register_checkpoint_form(form), doctest::Contains("reads or writes the format"));
  form.load = [](const std::string&, const LoadOptions&) { return Checkpoint(); };
  form.holds = [](const std::string& path) { return path.find("nothing-in-particular") != std::string::npos; };
  register_checkpoint_form(form);
  CHECK_THROWS_WITH(register_checkpoint_form(form), "[checkpoint] the name \"nothing\" is taken");
  CHECK(find_checkpoint_form("/x/nothing-in-particular") == "nothing");
  CHECK_THROWS_WITH((void)load_checkpoint("/x/nothing-in-particular"), doctest::Contains("returned no model"));
  CHECK_THROWS_WITH((void)save_checkpoint_as("nothing", "x", Checkpoint()),
                    "[checkpoint] checkpoints in the format \"nothing\" can be read, but not written");
}

}  // namespace weft::test
