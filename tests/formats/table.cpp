// Tests of the table of checkpoint formats.
#include <doctest/doctest.h>

#include "train_support.h"
#include "weft/checkpoint_format.h"

namespace weft::test {

TEST_CASE("checkpoint forms: the table, and a custom format") {
  CHECK(checkpoint_formats().front() == "weft");
  CHECK_THROWS_WITH((void)checkpoint_format("onnx"),
                    doctest::Contains("unknown format \"onnx\", expected one of weft, hugg"));
  CheckpointFormat format;
  format.name = "nothing";
  CHECK_THROWS_WITH(register_checkpoint_format(format), doctest::Contains("reads or writes the format"));
  format.load = [](const std::string&, const LoadOptions&) { return Checkpoint(); };
  format.holds = [](const std::string& path) { return path.find("nothing-in-particular") != std::string::npos; };
  register_checkpoint_format(format);
  CHECK_THROWS_WITH(register_checkpoint_format(format), "[checkpoint] the name \"nothing\" is taken");
  CHECK(find_checkpoint_format("/x/nothing-in-particular") == "nothing");
  CHECK_THROWS_WITH((void)load_checkpoint("/x/nothing-in-particular"), doctest::Contains("returned no model"));
  CHECK_THROWS_WITH((void)save_checkpoint_as("nothing", "x", Checkpoint()),
                    "[checkpoint] checkpoints in the format \"nothing\" can be read, but not written");
}

}  // namespace weft::test
