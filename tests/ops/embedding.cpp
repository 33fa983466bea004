#include <doctest/doctest.h>

#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

OpCase embedding_case(const std::string& name, const Shape& shape, std::int64_t v, std::int64_t d) {
  return {"embedding " + name,
          {indices(shape, v), {{v, d}}},
          [](Ins in) { return embedding(in[0], in[1]); },
          [=](Ins in) {
            const auto index = in[0].to_vector<std::int64_t>();
            const auto weight = in[1].to_vector<double>();
            std::vector<double> y;
            for (std::int64_t i : index) y.insert(y.end(), weight.begin() + i * d, weight.begin() + (i + 1) * d);
            Shape out = shape;
            out.push_back(d);
            return Tensor::from(y, out);
          }};
}

const OpCases embedding_cases{
    embedding_case("", {3, 5}, 10, 4),
    embedding_case("of wide rows", {7}, 5, 37),
    embedding_case("of one index", {}, 3, 4),
    embedding_case("with every index the same", {6}, 1, 3),
    embedding_case("of three axes", {2, 3, 4}, 6, 17),
    embedding_case("of nothing", {0, 2}, 4, 3),
    embedding_case("of empty rows", {2, 3}, 4, 0),
};

}  // namespace

TEST_CASE("the gradient of a frequent row is the same for any number of threads") {
  const Tensor index = random_tensor(indices({20000}, 3), 1);
  const auto run = [&](int threads) {
    Context context;
    context.set_threads(threads);
    ContextScope scope(context);
    const Tensor weight = to_single(random_tensor({{50, 9}}, 1));
    return differentiate([&](Ins in) { return embedding(index, in[0]); }, {weight}, {true});
  };
  const Tensor one = run(1).gradients[0];
  for (int threads : {2, 3, 8}) CHECK(same_bits(run(threads).gradients[0], one));
}

TEST_CASE("embedding: errors name the index and the range") {
  const Tensor weight = Tensor::zeros({4, 3});
  const auto one = [](std::int64_t i) { return Tensor::from(std::vector<std::int64_t>{0, i}, {2}); };
  CHECK_THROWS_WITH_AS(embedding(one(4), weight), "[embedding] expected indices from 0 to 3, got 4", Error);
  CHECK_THROWS_WITH_AS(embedding(one(-1), weight), "[embedding] expected indices from 0 to 3, got -1", Error);
  CHECK_THROWS_WITH_AS(embedding(Tensor::zeros({2}), weight),
                       "[embedding] expected indices of dtype i64, got an f32 tensor of shape (2,)", Error);
  CHECK_THROWS_WITH_AS(embedding(one(0), Tensor::zeros({4})),
                       "[embedding] expected a weight of shape (v, d), got an f32 tensor of shape (4,)", Error);
  CHECK_THROWS_AS(embedding(Tensor(), weight), Error);
  CHECK_THROWS_AS(embedding(one(0), Tensor()), Error);
  CHECK_THROWS_AS(embedding(one(0), Tensor::zeros({4, 3}, DType::i64)), Error);
  CHECK_THROWS_AS(embedding(one(0), Tensor::zeros({0, 3})), Error);
}

}  // namespace weft::test
