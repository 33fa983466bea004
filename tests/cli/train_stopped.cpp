// Tests of weft train when it is stopped, resumed, or can't write.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"

namespace weft::test {

TEST_CASE("a signal makes it save, report and exit with 130, and resumed training gives the same bytes") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  std::string other_text = small_text();
  std::swap(other_text[0], other_text[1]);
  folder.write("other", other_text);
  const std::string steps = " --steps 4000 --eval-every 1500";
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes + steps + " --out ";
  const std::string log = " --log " + (folder / "log");
  const Outcome stopped = weft_with_signal(train + (folder / "a") + log, "step 200/", SIGINT);
  CAPTURE(stopped.err);
  CHECK(stopped.code == 130);
  CHECK(contains(stopped.err, "weft: stopped after step "));
  CHECK_FALSE(contains(stopped.out, "validation loss"));
  const Outcome info = weft("info --checkpoint " + (folder / "a/last"));
  CHECK(number_after(info.out, "\nstep ") == number_after(stopped.err, "stopped after step "));
  CHECK(number_after(info.out, "\nstep ") < 4000);

  const Outcome other = weft("train --resume " + (folder / "a") + " --text " + (folder / "other") + log);
  CHECK(fails_with(other, 1, "it belongs to a run with data "));

  const std::string start = folder.read("log");
  CHECK(weft("train --resume " + (folder / "a") + log).code == 0);
  CHECK(folder.read("log").rfind(start, 0) == 0);
  CHECK(folder.read("log").rfind("step\t") == 0);
  CHECK(contains(folder.read("log").substr(start.size()), "\n4000\t-\t"));
  CHECK(weft(train + (folder / "b")).code == 0);
  CHECK(folder.read("a/last/model.safetensors") == folder.read("b/last/model.safetensors"));
  for (int signal : {SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    CHECK(weft_with_signal(train + (folder / "c") + " --overwrite", "step 200/", signal).code == 128 + signal);
    CHECK(number_after(weft("info --checkpoint " + (folder / "c")).out, "\nstep ") >= 200);
    std::filesystem::remove_all(folder / "c");
  }
}

TEST_CASE("a finished run has nothing to resume, unless its last checkpoint is missing") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes + "--schedule constant --out ";
  const std::string run = folder / "run";
  REQUIRE(weft(train + run + " --steps 20").code == 0);
  const std::string before = folder.read("run/last/model.safetensors"),
                    state = folder.read("run/last/training.safetensors");
  const Outcome nothing = weft("train --resume " + run);
  CHECK(nothing.code == 0);
  CHECK(contains(nothing.err, "nothing to do: \"" + run + "\" is at step 20 of 20"));
  CHECK(fails_with(weft("train --steps 10 --resume " + run), 1, "is at step 20, beyond --steps 10"));
  CHECK(folder.read("run/last/model.safetensors") == before);

  REQUIRE(weft(train + run + " --steps 19 --overwrite").code == 0);
  folder.write("run/last/training.safetensors", state);
  CHECK(weft("train --steps 20 --resume " + run).code == 0);
  CHECK(folder.read("run/last/model.safetensors") == before);
}

TEST_CASE("a log that can't be written completely: an error, and the checkpoint is saved") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes + "--steps 2000 --out ";
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread reader([&] {
    std::ifstream log(pipe);
    std::string header;
    std::getline(log, header);
  });
  const Outcome outcome = weft(train + (folder / "run") + " --log " + pipe);
  reader.join();
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.err, "\nweft: can't write \"" + pipe + "\"\n"));
  CHECK(number_after(weft("info --checkpoint " + (folder / "run/last")).out, "\nstep ") == 2000);
}

TEST_CASE("training continues if nobody reads its output, and after a hang-up if that signal was ignored") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes + "--steps 2000 --out ";
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread reader([&] { std::ifstream unread(pipe); });
  const Outcome outcome = weft(train + (folder / "a") + " 2>" + pipe);
  reader.join();
  CHECK(outcome.code == 0);
  CHECK(ends_as_promised(outcome.out));

  const auto before = ::signal(SIGHUP, SIG_IGN);
  const Outcome ignored = weft_with_signal(train + (folder / "b"), "step 200/", SIGHUP);
  ::signal(SIGHUP, before);
  CHECK(ignored.code == 0);
  CHECK(ends_as_promised(ignored.out));
}

}  // namespace weft::test
