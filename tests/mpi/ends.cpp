// Tests of what ends the ranks of mpirun: mistakes, full disks, signals, a rank that dies.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <map>

#include "../cli/small_run.h"
#include "ranks.h"
#include "weft/cpu.h"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Runs {
  Runs() {
    folder.write("text", small_text());
    folder.write("other", small_text() + "more");
    folder.write("short", "hi");
  }
  std::string train(const std::string& more = "") const {
    return "\"$WEFT\" train --arch gmlp --text " + (folder / "text") + sizes + "--threads 1 --eval-every 5 --out " +
           (folder / "run") + " " + more;
  }
  // Runs rank 0 with the usual arguments and rank 1 with additional ones.
  std::string two(const std::string& more, const std::string& before = "",
                  const std::string& of_both = "--steps 10") const {
    return mpirun(1) + train(of_both) + " : -n 1 " + before + train(of_both + " " + more);
  }
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (const std::string& file : run_files) all[file] = folder.read("run/" + file);
    return all;
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(Runs,
                  "mpirun: different builds, settings or data on one of the ranks give one line before training") {
  if (const auto isas = available_isas(); isas.size() > 1) {
    const std::string other = isa_name(isas.front());
    CHECK(fails_with_line(shell(two("", "-x WEFT_ISA=" + other + " ")),
                          "rank 1 and rank 0 differ in the instruction set: " + other));
  }
  CHECK(fails_with_line(shell(two("--seed 2")), "rank 1 and rank 0 differ in the seed: 2 and 1"));
  CHECK(fails_with_line(shell(two("--optimizer sgd")),
                        "rank 1 and rank 0 differ in the optimizer: \"sgd\" and \"adamw\""));
  CHECK(fails_with_line(shell(two("--steps 11")), "rank 1 and rank 0 differ in the number of steps: 11 and 10"));
  CHECK(fails_with_line(shell(two("--text " + (folder / "other"))), "rank 1 and rank 0 differ in the data"));
  CHECK(fails_with_line(shell(two("--text " + (folder / "none"))), "rank 1: [file] can't open \"" + (folder / "none")));
  CHECK_FALSE(std::filesystem::exists(folder / "run/last"));
}

// Changes a copy of the command.
TEST_CASE_FIXTURE(
    Runs, "mpirun: a different build on one of the ranks is detected, even if version and compiler are the same") {
  REQUIRE(shell("cp \"$(dirname \"$WEFT\")/weft-mpi.so\" " + (folder / "")).code == 0);
  REQUIRE(shell("cp \"$WEFT\" " + (folder / "weft")).code == 0);
  // A text of its help.
  REQUIRE(shell("env LC_ALL=C sed -i 's/Ctrl-C saves the run/Ctrl-C saves the ran/' " + (folder / "weft")).code == 0);
  REQUIRE(shell("cmp -s \"$WEFT\" " + (folder / "weft")).code == 1);
  const std::string more = train("--steps 10").substr(std::string("\"$WEFT\"").size());
  CHECK(fails_with_line(shell(mpirun(1) + train("--steps 10") + " : -n 1 " + (folder / "weft") + more),
                        "rank 1 and rank 0 differ in the build of weft: "));
}

TEST_CASE_FIXTURE(Runs, "mpirun: a missing module is reported once, and no module is loaded from the current folder") {
  REQUIRE(shell("cp \"$WEFT\" " + (folder / "weft")).code == 0);
  folder.write("here/weft-mpi.so", "no module");
  const auto run_here = [&](const std::string& line) { return shell("env -C " + (folder / "here") + " " + line); };
  const std::string arguments = train("--steps 2").substr(std::string("\"$WEFT\"").size());
  const Outcome missing = run_here(mpirun(3) + (folder / "weft") + arguments);
  CHECK(fails_with_line(missing, "can't load its MPI module: " + (folder / "../")));
  CHECK(run_here(mpirun(2) + train("--steps 2")).code == 0);
  const Outcome paths = shell("readelf -d \"$WEFT\"");  // an empty path means the current folder
  if (paths.code == 0) CHECK_FALSE(contains(paths.out, "::"));
}

TEST_CASE_FIXTURE(Runs, "mpirun: an error of all ranks is reported once") {
  CHECK(fails_with_line(shell(mpirun(3) + train("--text " + (folder / "short"))), "[text] 2 tokens"));
  const Outcome usage = shell(mpirun(3) + train("--lr x"));
  CHECK(fails_with_line(usage, "--lr: expected a finite number"));
  CHECK(usage.code == 2);
  CHECK(fails_with_line(shell(two("--lr x")), "rank 1: --lr: expected"));
  CHECK(fails_with_line(shell(mpirun(3) + train("--micro-batches 2")),
                        "--micro-batches 2 leaves some of 3 ranks idle: --micro-batches 3 gives each rank one"));
  CHECK(fails_with_line(shell(mpirun(2) + "\"$WEFT\" train --resume " + (folder / "none")), "there is no run in"));
  REQUIRE(shell(train("--steps 5")).code == 0);
  const auto before = contents();
  CHECK(fails_with_line(shell(mpirun(2) + train("--steps 5")), "already exists"));
  CHECK(contents() == before);
}

TEST_CASE_FIXTURE(Runs, "mpirun: ranks with different commands or different states end immediately") {
  REQUIRE(shell(mpirun(2) + train("--steps 5")).code == 0);
  const auto before = contents();
  const std::string resume = "\"$WEFT\" train --steps 10 --resume ";
  const auto beside = [](const std::string& first, const std::string& second) {
    return shell(mpirun(1) + first + " : -n 1 " + second);
  };
  CHECK(fails_with_line(beside(train("--overwrite"), resume + (folder / "run")),
                        "rank 1 and rank 0 differ in the command: a resumed run and a new run"));
  CHECK(fails_with_line(beside(resume + (folder / "run"), train("--overwrite")),
                        "rank 1 and rank 0 differ in the command"));
  CHECK(fails_with_line(beside(train("--overwrite"), "\"$WEFT\" train --help"),
                        "differ in the command: a help page and a new run"));
  CHECK(fails_with_line(beside("\"$WEFT\" train --help", resume + (folder / "run")), "and a help page"));
  std::filesystem::copy(folder / "run", folder / "copy", std::filesystem::copy_options::recursive);
  std::filesystem::remove(folder / "copy/last/training.safetensors");
  for (const bool first : {false, true})
    CHECK(fails_with_line(
        beside(resume + (folder / (first ? "copy" : "run")), resume + (folder / (first ? "run" : "copy"))),
        "rank 1 and rank 0 differ in the state of the run"));
  // Rank 0 decides which steps remain.
  const std::string done = "\"$WEFT\" train --resume ";
  std::filesystem::copy(folder / "run/last/training.safetensors", folder / "copy/last/training.safetensors");
  std::filesystem::remove_all(folder / "copy/last/config.json");
  CHECK(contains(said_by_weft(beside(done + (folder / "run"), done + (folder / "copy")).err), "nothing to do"));
  CHECK(contents() == before);
}

TEST_CASE("mpirun: a rank that leaves or aborts while others wait for it gives one line within seconds") {
  for (const std::string end : {"leave", "abort"}) {
    const Clock::time_point start = Clock::now();
    const Outcome outcome = shell(mpirun(2) + "$OTHER_ENDS " + end);
    CAPTURE(outcome.err);
    CHECK(fails_with_line(outcome, end == "abort" ? "weft: rank 1: the reason"
                                                  : "weft: rank 1: this rank ended, but other ranks still wait"));
    CHECK(Clock::now() - start < std::chrono::seconds(end == "abort" ? 8 : 30));
  }
}

TEST_CASE_FIXTURE(Runs,
                  "mpirun: a loss that is not finite stops all ranks at the same step, and the last save is kept") {
  REQUIRE(shell(mpirun(2) + train("--steps 5")).code == 0);
  const auto before = contents();
  const Outcome broken =
      shell(mpirun(2) + train("--overwrite --steps 40 --lr 1e38 --warmup 0 --clip 0 --optimizer sgd"));
  CHECK(fails_with_line(broken, "[train] step "));
  CHECK(contents() == before);
}

TEST_CASE_FIXTURE(Runs,
                  "mpirun: rank 0 without room on its disk: a line, all end, what was saved stays; or all go on") {
  REQUIRE(shell(mpirun(2) + train("--steps 5 --schedule constant")).code == 0);
  const auto before = contents();
  const std::string tcp = "\"$MPIRUN\" --oversubscribe --mca btl self,tcp ";  // shared memory would be a file, too
  const std::string resume = "\"$WEFT\" train --steps 15 --resume " + (folder / "run");
  const auto full = [&](const std::string& more) {
    return shell(tcp + "-n 1 sh -c 'ulimit -f 8; exec " + resume + more + "' : -n 1 " + resume + more);
  };
  const Outcome ended = full("");
  CAPTURE(ended.err);
  CHECK(fails_with_line(ended, "File too large"));
  CHECK(contains(said_by_weft(ended.err), "earlier saves are intact"));
  CHECK(contents() == before);
  const Outcome went_on = full(" --keep-going");
  CAPTURE(went_on.err);
  CHECK(contains(said_by_weft(went_on.err), "; the run continues, and earlier saves are intact"));
  CHECK(contains(went_on.err, "step 15: validation loss"));
  CHECK(went_on.code != 0);  // because the last save failed, too
  CHECK(contents() == before);
  CHECK(shell(mpirun(2) + resume).code == 0);
}

// The size of the text exceeds 16 MB. The limit on file sizes keeps the second rank from writing the ids itself.
TEST_CASE_FIXTURE(Runs, "mpirun: only rank 0 writes the ids of a long text, and the others read them") {
  std::string text = small_text();
  while (text.size() <= std::size_t{17} << 20) text += text;
  folder.write("text", text);
  const std::string tcp = "\"$MPIRUN\" --oversubscribe --mca btl self,tcp -n 1 ", line = train("--steps 1 ");
  for (int time = 0; time < 2; ++time) {  // the first time without a file of ids, then with one
    const Outcome outcome = shell(tcp + line + "--overwrite : -n 1 sh -c 'ulimit -f 64; exec " + line + "--overwrite'");
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(std::filesystem::file_size(folder / "run/tokens.ids") > text.size());
  }
  // A rank that doesn't see the file doesn't write one either.
  const std::string elsewhere = "\"$WEFT\" train --arch gmlp --text " + (folder / "text") + sizes +
                                "--threads 1 --eval-every 5 --steps 1 --out " + (folder / "elsewhere");
  CHECK(shell(mpirun(1) + line + "--overwrite : -n 1 " + elsewhere).code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

TEST_CASE_FIXTURE(Runs, "mpirun: a killed rank ends the run within seconds, and the run resumes to the same bytes") {
  const std::string steps = "--schedule constant --micro-batches 2 --steps ";
  for (const std::string rank : {"0", "1"}) {
    CAPTURE(rank);
    Clock::time_point killed;
    const std::string noted = "sh -c 'echo $$ > " + (folder / "pid") + ".$OMPI_COMM_WORLD_RANK; exec " +
                              train("--overwrite " + steps + "1000000") + "'";
    const Outcome outcome = shell(mpirun(2) + noted, [&](const std::string& place, int) {
      std::ostringstream err;
      err << std::ifstream(place + "err").rdbuf();
      if (!contains(err.str(), "step 20: validation loss")) return false;
      killed = Clock::now();
      ::kill(std::stoi(folder.read("pid." + rank)), SIGKILL);
      return true;
    });
    CHECK(Clock::now() - killed < std::chrono::seconds(20));
    CHECK(outcome.code != 0);
    CHECK(contains(outcome.err, "process rank " + rank));
    CHECK(contains(outcome.err, "Killed"));
    const Outcome info = shell("\"$WEFT\" info --checkpoint " + (folder / "run/last"));
    CHECK(info.code == 0);
    const double saved = number_after(info.out, "\nstep ");
    CHECK(saved >= 20);
    const std::string until = std::to_string(static_cast<long>(saved) + 7);
    // One process gives the same bits as any number of ranks.
    std::filesystem::remove_all(folder / "copy");
    std::filesystem::copy(folder / "run", folder / "copy", std::filesystem::copy_options::recursive);
    CHECK(shell(mpirun(3) + "\"$WEFT\" train --steps " + until + " --resume " + (folder / "run")).code == 0);
    CHECK(shell("\"$WEFT\" train --steps " + until + " --resume " + (folder / "copy")).code == 0);
    CHECK(folder.read("run/last/training.safetensors") == folder.read("copy/last/training.safetensors"));
  }
}

TEST_CASE_FIXTURE(Runs, "mpirun: signals save and stop all ranks after the same step") {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    CAPTURE(signal);
    const Outcome outcome = shell(mpirun(2) + train("--overwrite --schedule constant --steps 1000000"),
                                  [&](const std::string& place, int process) {
                                    std::ostringstream err;
                                    err << std::ifstream(place + "err").rdbuf();
                                    if (!contains(err.str(), "step 10: validation loss")) return false;
                                    ::kill(process, signal);
                                    return true;
                                  });
    CAPTURE(outcome.err);
    CHECK(outcome.code != 0);
    CHECK(contains(said_by_weft(outcome.err), "weft: stopping after this step, because of a signal or a dead rank"));
    CHECK(contains(said_by_weft(outcome.err), "weft: stopped after step "));
    const Outcome info = shell("\"$WEFT\" info --checkpoint " + (folder / "run/last"));
    CHECK(number_after(info.out, "\nstep ") == number_after(outcome.err, "stopped after step "));
  }
}

}  // namespace weft::test
