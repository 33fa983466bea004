// The results of C functions when memory runs out: each failing allocation gives a status, and the next call works.
#include <doctest/doctest.h>

#include <cstring>

#include "running_out.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/weft_c.h"

namespace weft::test {
namespace {

int ignore(void*, const char*, std::size_t) { return 0; }

struct CCall {
  const char* name;
  std::function<weft_status()> body;
  std::size_t smallest = 0;
};

}  // namespace

TEST_CASE("out of memory in the C interface: a status and its message at each allocation, then the usual result") {
  const TemporaryFolder folder;
  for (const Task task : {Task::causal_lm, Task::classifier}) {
    const SmallTask small = small_task("gmlp", task);
    save_checkpoint(folder / task_name(task), *small.model, *small.data->tokenizer());
  }
  const std::string lm_path = folder / "causal-lm", classes_path = folder / "classifier";
  const std::string bytes = folder.read("causal-lm/model.safetensors");
  weft_model *lm = nullptr, *classes = nullptr, *made = nullptr;
  REQUIRE(weft_load(lm_path.c_str(), &lm) == WEFT_OK);
  REQUIRE(weft_load(classes_path.c_str(), &classes) == WEFT_OK);
  weft_stream *stream = nullptr, *other = nullptr;
  REQUIRE(weft_stream_new(lm, &stream) == WEFT_OK);
  const std::int64_t tokens[] = {1, 2, 3, 4};
  std::vector<float> logits(4096);
  std::vector<double> probabilities(16);
  std::vector<std::int64_t> ids(64);
  std::vector<char> text(64);
  const char* texts[] = {"red green blue and more words than one", "north"};
  weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
  options.tokens = 3;
  weft_info info{};
  info.struct_size = sizeof info;
  const std::vector<CCall> calls = {
      {"weft_load",
       [&] {
         const weft_status status = weft_load(lm_path.c_str(), &made);
         if (status == WEFT_OK) weft_model_free(made);
         return status;
       },
       of_json},
      {"weft_load_memory",
       [&] {
         const weft_status status = weft_load_memory(bytes.data(), bytes.size(), &made);
         if (status == WEFT_OK) weft_model_free(made);
         return status;
       },
       of_json},
      {"weft_model_info", [&] { return weft_model_info(lm, &info); }},
      {"weft_run", [&] { return weft_run(lm, tokens, 1, 4, logits.data(), logits.size(), nullptr); }},
      {"weft_encode", [&] { return weft_encode(lm, "line 7: the quick", 17, ids.data(), ids.size(), nullptr); }},
      {"weft_decode", [&] { return weft_decode(lm, tokens, 4, text.data(), text.size(), nullptr); }},
      {"weft_classify", [&] { return weft_classify(classes, texts, 2, probabilities.data(), 16, nullptr); }},
      {"weft_stream_new",
       [&] {
         const weft_status status = weft_stream_new(lm, &other);
         if (status == WEFT_OK) weft_stream_free(other);
         return status;
       }},
      {"weft_stream_copy",
       [&] {
         const weft_status status = weft_stream_copy(stream, &other);
         if (status == WEFT_OK) weft_stream_free(other);
         return status;
       }},
      {"weft_generate", [&] { return weft_generate(lm, "line", &options, ignore, nullptr, nullptr); }}};
  for (const CCall& call : calls) {
    CAPTURE(call.name);
    std::int64_t count = 0;
    {
      const FailingMemory memory(0, call.smallest);
      REQUIRE(call.body() == WEFT_OK);
      count = memory.allocations();
    }
    const std::vector<float> before = logits;
    for (const std::int64_t k : chosen(count, 60)) {
      weft_status status = WEFT_OK;
      REQUIRE(weft_load(nullptr, nullptr) == WEFT_INVALID_ARGUMENT);  // sets another message, which must be replaced
      {
        const FailingMemory memory(k, call.smallest);
        status = call.body();
      }
      CAPTURE(k);
      if (status == WEFT_OK) continue;  // a cache that does not need the memory
      CHECK(status == WEFT_FAILED);
      CHECK(std::strstr(weft_last_error(), "memory") != nullptr);
    }
    CHECK(call.body() == WEFT_OK);
    CHECK(logits == before);
  }
  weft_stream_free(stream);
  weft_model_free(classes);
  weft_model_free(lm);
}

// An append that fails must not change the stream.
TEST_CASE("out of memory in the C interface: a stream that failed to append can be retried") {
  const TemporaryFolder folder;
  for (const char* arch : {"gmlp", "tnn"}) {
    const SmallTask small = small_task(arch, Task::causal_lm);
    save_checkpoint(folder / arch, *small.model, *small.data->tokenizer());
    for (const char* precision : {"f32", "bf16"}) {
      CAPTURE(arch);
      CAPTURE(precision);
      weft_model* model = nullptr;
      REQUIRE(weft_load((folder / arch).c_str(), &model) == WEFT_OK);
      REQUIRE(weft_set_precision(model, precision) == WEFT_OK);
      const std::int64_t tokens[] = {1, 2, 3};
      std::vector<float> expected(static_cast<std::size_t>(small.model->vocabulary())), logits(expected.size());
      // Fails the k-th allocation, if there are that many, and retries.
      const auto append = [&](std::int64_t k, std::vector<float>& to) {
        weft_stream* stream = nullptr;
        REQUIRE(weft_stream_new(model, &stream) == WEFT_OK);
        REQUIRE(weft_stream_append(stream, tokens, 2, to.data(), to.size(), nullptr) == WEFT_OK);
        weft_status status = WEFT_OK;
        std::int64_t count = 0;
        {
          const FailingMemory memory(k);
          status = weft_stream_append(stream, tokens + 2, 1, to.data(), to.size(), nullptr);
          count = memory.allocations();
        }
        if (status != WEFT_OK)
          REQUIRE(weft_stream_append(stream, tokens + 2, 1, to.data(), to.size(), nullptr) == WEFT_OK);
        weft_stream_free(stream);
        return count;
      };
      const std::int64_t count = append(0, expected);
      REQUIRE(count > 3);
      for (std::int64_t k = 1; k <= count; ++k) {
        CAPTURE(k);
        append(k, logits);
        CHECK(logits == expected);
      }
      weft_model_free(model);
    }
  }
}

TEST_CASE("out of memory in the C interface: without memory for the message, the message is a fixed text") {
  weft_model* made = nullptr;
  REQUIRE(weft_load("a folder that is not there, with a long name", &made) == WEFT_FAILED);
  weft_status status = WEFT_OK;
  {
    const FailingMemory memory(1, 0, true);
    status = weft_load("a folder that is not there, with a long name", &made);
  }
  CHECK(status == WEFT_FAILED);
  CHECK(std::string(weft_last_error()) == "out of memory");
  CHECK(made == nullptr);
}

}  // namespace weft::test
