// Tests of vectors of texts: features, the contrastive loss, training on pairs, and the nearest vectors.
#include "weft/embed.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "contains.h"
#include "op_table.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/frame_rows.h"
#include "weft/pair_data.h"
#include "weft/retrieval_meter.h"

namespace weft::test {
namespace {

// 40 pairs of a text and a second text that contains the same number as a word.
LabeledTexts numbered_pairs() {
  const char* tens[] = {"ten", "twenty", "thirty", "forty"};
  const char* ones[] = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "none"};
  LabeledTexts rows;
  for (std::int64_t k = 0; k < 40; ++k) {
    rows.texts.push_back(std::string("number ") + tens[k / 10] + " and " + ones[k % 10]);
    rows.names.push_back(std::string(ones[k % 10]) + " " + tens[k / 10] + " it is");
    rows.labels.push_back(k);
  }
  return rows;
}

}  // namespace

TEST_CASE("embed: the contrastive loss follows its definition, and its gradients") {
  const Tensor x = random_numbers({6, 4});
  const auto rows = x.to_vector<double>();
  const auto similarity = [&](std::size_t a, std::size_t b) {
    double dot = 0, aa = 1e-12, bb = 1e-12;
    for (std::size_t i = 0; i < 4; ++i) {
      dot += rows[4 * a + i] * rows[4 * b + i];
      aa += rows[4 * a + i] * rows[4 * a + i];
      bb += rows[4 * b + i] * rows[4 * b + i];
    }
    return dot / std::sqrt(aa * bb) / 0.1;
  };
  double want = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    double of_row = 0, of_column = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      of_row += std::exp(similarity(i, 3 + j));
      of_column += std::exp(similarity(j, 3 + i));
    }
    want += (std::log(of_row) + std::log(of_column) - 2 * similarity(i, 3 + i)) / 6;
  }
  CHECK(contrastive_loss(x, 0.1).item() == doctest::Approx(want).epsilon(1e-12));
  CHECK(gradient_error([](const std::vector<Tensor>& in) { return contrastive_loss(in[0], 0.1); }, {x}, {true}, 1) <
        1e-6);
  CHECK(contrastive_loss(random_numbers({2, 3})).item() ==
        doctest::Approx(0).epsilon(1e-12));  // there is no other pair
  CHECK(max_abs(sub(sum(square(normalized(x)), {-1}), Tensor::full({6}, 1, DType::f64))) < 1e-10);
  CHECK(max_abs(normalized(Tensor::zeros({2, 3}, DType::f64))) == 0);
  for (const Shape& shape : {Shape{3, 4}, Shape{0, 4}, Shape{6}})
    CHECK_THROWS_AS((void)contrastive_loss(Tensor::zeros(shape, DType::f64)), Error);
  CHECK_THROWS_AS((void)contrastive_loss(x, 0), Error);
}

TEST_CASE("embed: pairs with the same text or label are not negatives of each other") {
  const Tensor x = random_numbers({8, 4});
  // Texts 0 and 2 are equal, and so are labels 1 and 3.
  const Tensor tokens = Tensor::from<std::int64_t>({1, 2, 3, 0, 1, 2, 4, 0, 5, 0, 6, 0, 7, 0, 6, 0}, {8, 2});
  const auto is_negative = [](std::size_t i, std::size_t j) { return i % 2 != j % 2; };
  const Tensor unit = normalized(x);
  const auto rows = unit.to_vector<double>();
  const auto similarity = [&](std::size_t i, std::size_t j) {
    double dot = 0;
    for (std::size_t c = 0; c < 4; ++c) dot += rows[4 * i + c] * rows[4 * (4 + j) + c];
    return dot / 0.1;
  };
  double want = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double of_row = 0, of_column = 0;
    for (std::size_t j = 0; j < 4; ++j)
      if (i == j || is_negative(i, j)) {
        of_row += std::exp(similarity(i, j));
        of_column += std::exp(similarity(j, i));
      }
    want += (std::log(of_row) + std::log(of_column) - 2 * similarity(i, i)) / 8;
  }
  CHECK(contrastive_loss(x, 0.1, tokens).item() == doctest::Approx(want).epsilon(1e-12));
  CHECK(gradient_error([&](const std::vector<Tensor>& in) { return contrastive_loss(in[0], 0.1, tokens); }, {x}, {true},
                       1) < 1e-6);
  const Tensor distinct = Tensor::from<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8}, {8, 1});
  CHECK(contrastive_loss(x, 0.1, distinct).item() == contrastive_loss(x, 0.1).item());
  CHECK_THROWS_AS((void)contrastive_loss(x, 0.1, Tensor::zeros({6, 2}, DType::i64)), Error);

  // PairData follows this rule. It refuses training data in which no pair of a batch can be a negative example.
  LabeledTexts pairs_of_texts = numbered_pairs();
  const auto tokenizer = words(pairs_of_texts.texts);
  pairs_of_texts.labels[1] = 0;
  const PairData data(pairs_of_texts, pairs_of_texts, tokenizer, 7, 2);
  CHECK(data.loss(random_numbers({4, 3}), data.validation(0)).item() == doctest::Approx(0).epsilon(1e-12));
  CHECK(data.loss(random_numbers({4, 3}), data.validation(1)).item() > 1e-3);
  const auto refused = [&](std::int64_t batch) {
    return error_of([&] { PairData(pairs_of_texts, pairs_of_texts, tokenizer, 7, batch); });
  };
  CHECK(contains(refused(1), "batches of at least 2 pairs"));
  CHECK_NOTHROW(PairData({}, pairs_of_texts, tokenizer, 7, 1));  // a batch that is only used for evaluation
  pairs_of_texts.labels.assign(40, 3);
  CHECK(contains(refused(8), "got 40 rows that all have the same tokens in the label"));
}

TEST_CASE("embed: features are the inputs to the head of a tagging model") {
  const Tensor tokens = Tensor::from<std::int64_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const auto model =
        make_model({arch, Task::tagging, 9, 2, R"({"d_model":6,"layers":2,"seq_len":4})"}, {Random(2), DType::f64});
    randomize(model->parameters(), 0.5);
    const Tensor features = model->features(tokens);
    REQUIRE(features.shape() == Shape{2, 3, 6});
    const auto all = model->parameters();
    const std::string head = arch == "fnet" ? "classifier." : "head.";
    Tensor weight, bias;
    for (const auto& [name, parameter] : all) {
      if (name == head + "weight") weight = parameter.value();
      if (name == head + "bias") bias = parameter.value();
    }
    CHECK(max_abs(sub(linear(features, weight, bias), (*model)(tokens))) < 1e-12);
    CHECK_THROWS_AS((void)model->features(Tensor::zeros({1, 0}, DType::i64)), Error);
  }
}

TEST_CASE("embed: batches of pairs, and recall over all validation rows") {
  const LabeledTexts rows = numbered_pairs();
  const auto tokenizer = words(rows.texts);
  const PairData data(rows, rows, tokenizer, 7, 16);
  CHECK(data.validation_batches() == 3);
  const Batch batch = data.validation(2);
  CHECK(batch.tokens.shape() == Shape{16, 7});
  CHECK(batch.predicted == 8);
  const auto row = [&](const std::string& text) {
    return encode_rows(*tokenizer, {text}, 7, 7).to_vector<std::int64_t>();
  };
  CHECK(slice(batch.tokens, 0, 0, 1).to_vector<std::int64_t>() == row(rows.texts[32]));
  CHECK(slice(batch.tokens, 0, 8, 9).to_vector<std::int64_t>() == row(rows.names[32]));
  CHECK(data.training(1, Random(3)).tokens.shape() == Shape{32, 7});
  CHECK(data.fingerprint() == PairData(rows, rows, tokenizer, 7, 16).fingerprint());
  LabeledTexts other = rows;
  std::swap(other.names[3], other.names[4]);
  CHECK(data.fingerprint() != PairData(other, rows, tokenizer, 7, 16).fingerprint());

  // There are three texts. The first is nearest to its own label. A label in a different batch is nearer to the second
  // text than its own label.
  const auto meter = data.meter();
  meter->add(Tensor::from<float>({1, 0, 0, 1, 1, 0, 0.9F, 0.8F}, {4, 2}), batch);
  meter->add(Tensor::from<float>({1, 1, 0, 1}, {2, 2}), batch);
  CHECK(meter->metrics().at(0).name == "recall@1");
  CHECK(meter->metrics().at(0).value == doctest::Approx(1.0 / 3));
  CHECK(meter->metrics().at(1).value == 1);

  // The names of the metrics are known before the first batch, because they choose the best checkpoint.
  CHECK(data.meter()->metrics().at(1).name == "recall@10");

  // The ranks of the same texts. If labels have the same tokens, all of them are correct.
  RetrievalMeter ranks;
  const auto ranks_of = [](const RetrievalMeter& of) {
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (const RetrievalRank& rank : of.ranks()) pairs.emplace_back(rank.nearer, rank.others);
    return pairs;
  };
  Batch two;
  two.tokens = Tensor::from<std::int64_t>({1, 2, 3, 4}, {4, 1});
  ranks.add(Tensor::from<float>({1, 0, 0, 1, 1, 0, 0.9F, 0.8F}, {4, 2}), two);
  Batch one;
  one.tokens = Tensor::from<std::int64_t>({5, 6}, {2, 1});
  ranks.add(Tensor::from<float>({1, 1, 0, 1}, {2, 2}), one);
  CHECK(ranks_of(ranks) == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 2}, {1, 2}, {2, 2}});
  CHECK(ranks.metrics().at(0).value == doctest::Approx(1.0 / 3));
  CHECK(ranks.metrics().at(1).value == 1);
  RetrievalMeter equal;
  equal.add(Tensor::from<float>({1, 0, 0, 1, 1, 0, 0.9F, 0.8F}, {4, 2}), two);
  one.tokens = Tensor::from<std::int64_t>({5, 4}, {2, 1});  // the label of the second text
  equal.add(Tensor::from<float>({1, 1, 0, 1}, {2, 2}), one);
  CHECK(ranks_of(equal) == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 2}, {0, 1}, {1, 1}});

  // If all vectors are equal or NaN, they find nothing.
  for (const float x : {1.F, std::numeric_limits<float>::quiet_NaN()}) {
    const auto none = data.meter();
    none->add(Tensor::full({32, 2}, x), data.validation(0));
    CHECK(none->metrics().at(0).value == 0);
    CHECK(none->metrics().at(1).value == 0);
  }
  CHECK_THROWS_AS(PairData(rows, {}, tokenizer, 7, 16), Error);
  CHECK_THROWS_AS(PairData(rows, rows, tokenizer, 1, 16), Error);
  CHECK_THROWS_AS(PairData(rows, rows, characters("abc"), 7, 16), Error);
}

TEST_CASE("embed: every architecture learns pairs, and its vectors find them") {
  const LabeledTexts rows = numbered_pairs();
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const TemporaryFolder folder;
    const PairData data(rows, rows, words(rows.texts), 7, 20);
    const auto model =
        make_model({arch, Task::retrieval, data.tokenizer()->size(), 12, R"({"d_model":16,"layers":1,"seq_len":7})"},
                   {Random(3), DType::f32});
    TrainOptions options = small_options(150);
    options.label_smoothing = 0.1;
    CHECK_THROWS_WITH_AS(Trainer(*model, data, options), doctest::Contains("label smoothing is for classes"), Error);
    options.label_smoothing = 0;
    options.schedule.peak = 0.01;
    Trainer trainer(*model, data, options);
    RunOptions run;
    run.folder = folder / "run";
    const Evaluation measured = *trainer.run(run).evaluation;
    CHECK(measured.metric("recall@1") > 0.8);
    const Embedder embedder(load_checkpoint(folder / "run" + "/last", Purpose::inference));
    CHECK(embedder.dimensions() == 12);
    const Tensor padded = encode_rows(*data.tokenizer(), {rows.texts[0]}, 7, 7);  // as in training
    CHECK(max_abs(sub(embedder({rows.texts[0]}), normalized((*model)(padded)))) < 1e-6);
    const Tensor labels = embedder(rows.names);
    REQUIRE(labels.shape() == Shape{40, 12});
    double found = 0;
    for (std::size_t i = 0; i < 40; ++i) {
      const Tensor query = reshape(embedder({rows.texts[i]}), {12});
      found += nearest(labels, query, 1).at(0).index == static_cast<std::int64_t>(i);
    }
    CHECK(found / 40 == doctest::Approx(measured.metric("recall@1")));
  }
}

TEST_CASE("embed: vectors from models of other tasks, and models that have none") {
  const TemporaryFolder folder;
  const auto tokenizer = words({"red green blue", "one two"}, 0, 1);
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const auto model = make_model({arch, Task::classifier, tokenizer->size(), 2, R"({"d_model":6,"layers":1})"},
                                  {Random(3), DType::f32});
    save_checkpoint(folder / arch, *model, *tokenizer, {});
    const Embedder embedder(load_checkpoint(folder / arch, Purpose::inference));
    CHECK(embedder.dimensions() == 6);
    const Tensor two = embedder({"red green", "two"});
    CHECK(max_abs(sub(sum(square(two), {-1}), Tensor::full({2}, 1, DType::f32))) < 1e-6);
    CHECK(same_bits(slice(two, 0, 1, 2), embedder({"two"})));
    CHECK(embedder({}).shape() == Shape{0, 6});
    CHECK_THROWS_AS((void)embedder({"a\xFF"}), Error);
  }
  // The tokenizer knows only two characters.
  const auto binary = characters("01");
  save_checkpoint(
      folder / "binary",
      *make_model({"gmlp", Task::causal_lm, binary->size(), 0, R"({"d_model":6,"layers":1})"}, {Random(3), DType::f32}),
      *binary, {});
  CHECK(Embedder(load_checkpoint(folder / "binary", Purpose::inference)).dimensions() == 6);
  InputSpec frames;
  frames.channels = 2;
  save_checkpoint(
      folder / "frames",
      *make_model({"tnn", Task::classifier, 0, 2, R"({"d_model":6,"layers":1})", frames}, {Random(3), DType::f32}),
      *no_tokenizer(), {});
  CHECK(contains(error_of([&] { Embedder(load_checkpoint(folder / "frames", Purpose::inference)); }),
                 "one that reads numbers"));
}

TEST_CASE("embed: the pooling first takes the features of the first token, which is [CLS] if there is one") {
  const TemporaryFolder folder;
  const auto with_cls = words({"red green blue", "one two"}, 0, 1), without_cls = characters("01");
  const auto check = [&](const std::string& arch, const std::string& config, Task task,
                         const std::shared_ptr<const Tokenizer>& tokenizer, const std::vector<std::string>& texts) {
    const auto model = make_model({arch, task, tokenizer->size(), 2, config}, {Random(3), DType::f32});
    randomize(model->parameters());
    save_checkpoint(folder / "model", *model, *tokenizer, {});
    const auto checkpoint = std::make_shared<const Checkpoint>(load_checkpoint(folder / "model", Purpose::inference));
    const Embedder embedder(checkpoint, Pooling::first);
    CHECK(embedder.dimensions() == 6);
    const Tensor vectors = embedder(texts);
    for (std::int64_t i = 0; i < 2; ++i) {
      const Tensor features = model->features(encode_rows(*tokenizer, {texts[static_cast<std::size_t>(i)]}));
      const Tensor first = reshape(slice(features, 1, 0, 1), {1, 6});
      CHECK(max_abs(sub(slice(vectors, 0, i, i + 1), normalized(first))) < 1e-6);
    }
    CHECK_FALSE(same_bits(slice(vectors, 0, 0, 1), slice(vectors, 0, 1, 2)));  // although the first tokens are equal
    CHECK_FALSE(same_bits(vectors, Embedder(checkpoint)(texts)));
    CHECK(same_bits(Embedder(checkpoint)(texts), Embedder(checkpoint, Pooling::mean)(texts)));
  };
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    check(arch, R"({"d_model":6,"layers":1})", Task::classifier, with_cls, {"red green", "two"});
  }
  check("fnet", R"({"d_model":6,"layers":1})", Task::masked_lm, without_cls, {"011", "010"});

  const auto why = [&](const ModelSpec& spec, const Tokenizer& tokenizer) {
    save_checkpoint(folder / "model", *make_model(spec, {Random(3), DType::f32}), tokenizer, {});
    const auto load = [&] { return load_checkpoint(folder / "model", Purpose::inference); };
    (void)Embedder(load(), Pooling::mean);
    return error_of([&] { Embedder(load(), Pooling::first); });
  };
  const std::string begin = "[embed] expected the pooling mean, got first: ";
  CHECK(why({"gmlp", Task::retrieval, with_cls->size(), 2, R"({"d_model":6,"layers":1})"}, *with_cls) ==
        begin + "a model of the task retrieval already outputs one vector");
  CHECK(why({"gmlp", Task::causal_lm, without_cls->size(), 0, R"({"d_model":6,"layers":1})"}, *without_cls) ==
        begin + "the first token of a causal model sees no other token");
  CHECK(why({"tnn", Task::classifier, with_cls->size(), 2, R"({"d_model":6,"layers":1,"causal":true})"}, *with_cls) ==
        begin + "the first token of a causal model sees no other token");
  CHECK(why({"gmlp", Task::classifier, with_cls->size(), 2, R"({"d_model":6,"layers":0})"}, *with_cls) ==
        begin + "the first token of a model without layers sees no other token");

  CHECK(poolings() == std::vector<std::string>{"mean", "first"});
  for (const std::string& name : poolings()) CHECK(pooling_name(pooling_from_name(name)) == name);
  CHECK(error_of([] { (void)pooling_from_name("max"); }) == "[pooling] expected one of mean, first, got \"max\"");
}

TEST_CASE("embed: the nearest vectors, in order, in f32 and bf16") {
  for (const std::int64_t n : {1, 2, 37, 300}) {
    CAPTURE(n);
    const Tensor vectors = Random(4).uniform({n, 19}, -1, 1, DType::f32),
                 query = Random(5).uniform({19}, -1, 1, DType::f32);
    const auto all = vectors.to_vector<float>(), q = query.to_vector<float>();
    std::vector<std::pair<double, std::int64_t>> expected;
    for (std::int64_t i = 0; i < n; ++i) {
      double dot = 0;
      for (std::size_t c = 0; c < 19; ++c)
        dot += static_cast<double>(all[static_cast<std::size_t>(i) * 19 + c]) * static_cast<double>(q[c]);
      expected.emplace_back(-dot, i);
    }
    std::sort(expected.begin(), expected.end());
    const auto found = nearest(vectors, query, 5);
    REQUIRE(std::ssize(found) == std::min<std::int64_t>(n, 5));
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].index == expected[i].second);
      CHECK(found[i].similarity == doctest::Approx(-expected[i].first).epsilon(1e-5));
    }
    const auto rounded = nearest(raw::convert(vectors, DType::bf16), query, 1);
    CHECK(rounded.at(0).similarity == doctest::Approx(-expected[0].first).epsilon(0.02));
  }
  // Several threads compare these vectors. The nearest ones are at the ends of the threads' parts. Equal vectors are in
  // row order.
  std::vector<float> many(100000, 0);
  for (const std::size_t row : {99999, 32767, 32768, 0}) many[row] = 2;
  many[65536] = 3;
  std::vector<std::int64_t> order;
  const Tensor vectors = Tensor::from(many, {100000, 1}), two = Tensor::full({1}, 2, DType::f32);
  for (const Neighbor& near : nearest(vectors, two, 6)) order.push_back(near.index);
  CHECK(order == std::vector<std::int64_t>{65536, 0, 32767, 32768, 99999, 1});
  CHECK(std::ssize(nearest(vectors, two, 70000)) == 70000);
  // NaN is never near.
  const Tensor some = Tensor::from<float>({std::nanf(""), -1, std::nanf(""), -3}, {4, 1}),
               one_number = Tensor::full({1}, 1, DType::f32);
  CHECK(nearest(some, one_number, 2).at(0).index == 1);
  CHECK(nearest(some, one_number, 2).at(1).index == 3);
  CHECK(std::ssize(nearest(some, one_number, 9)) == 4);
  // Products of bf16 vectors are not rounded to bf16.
  const Tensor close = Tensor::from<float>({1, 0, 1, 0.00390625F}, {2, 2}), ones = Tensor::full({2}, 1, DType::f32);
  CHECK(nearest(raw::convert(close, DType::bf16), ones, 1).at(0).index == 1);
  const Tensor equal = Tensor::full({4, 2}, 1, DType::f32), one = Tensor::full({2}, 1, DType::f32);
  CHECK(nearest(equal, one, 3).at(2).index == 2);
  CHECK(nearest(Tensor::zeros({0, 2}, DType::f32), one, 3).empty());
  CHECK_THROWS_AS((void)nearest(equal, equal, 3), Error);
  CHECK_THROWS_AS((void)nearest(equal, Tensor::full({3}, 1, DType::f32), 3), Error);
  CHECK_THROWS_AS((void)nearest(equal, one, 0), Error);
}

}  // namespace weft::test
