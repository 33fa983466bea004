#include "dense/einsum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "every_isa.h"
#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
using namespace detail;

namespace {

using Ins = const std::vector<Tensor>&;
using C = std::complex<double>;

// Returns the elements of x as complex numbers in f64, in row-major order.
std::vector<C> elements(const Tensor& x) { return raw::convert(raw::contiguous(x), DType::c128).to_vector<C>(); }

// Computes y, and dL/dx_i for L = Σ Re(conj(cotangent) y), by loops over all labels. Each character is a label.
struct LoopNest {
  std::vector<std::string> operands;
  std::string output;

  std::map<char, std::int64_t> sizes(Ins in) const {
    std::map<char, std::int64_t> all;
    for (std::size_t i = 0; i < in.size(); ++i)
      for (std::size_t axis = 0; axis < operands[i].size(); ++axis) {
        const auto it = all.emplace(operands[i][axis], in[i].shape()[axis]).first;
        if (it->second == 1) it->second = in[i].shape()[axis];
      }
    return all;
  }

  // Returns the index of an element in a row-major array with the axes of `term`. Axes of size 1 are broadcast.
  static std::size_t place(const std::string& term, const Shape& shape, const std::map<char, std::int64_t>& at) {
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < term.size(); ++axis)
      flat = flat * shape[axis] + (shape[axis] == 1 ? 0 : at.at(term[axis]));
    return static_cast<std::size_t>(flat);
  }

  // Calls f(indices) for every combination of the labels' values.
  template <class F>
  static void each(const std::map<char, std::int64_t>& all, F f) {
    std::int64_t count = 1;
    for (const auto& [label, n] : all) count *= n;
    for (std::int64_t flat = 0; flat < count; ++flat) {
      std::map<char, std::int64_t> at;
      std::int64_t rest = flat;
      for (const auto& [label, n] : all) {
        at[label] = rest % n;
        rest /= n;
      }
      f(at);
    }
  }

  Shape shape(Ins in) const {
    Shape out;
    const auto all = sizes(in);
    for (char label : output) out.push_back(all.at(label));
    return out;
  }

  std::vector<C> forward(Ins in) const {
    const Shape out = shape(in);
    std::vector<C> y(static_cast<std::size_t>(numel(out)), 0);
    std::vector<std::vector<C>> x;
    for (const Tensor& operand : in) x.push_back(elements(operand));
    each(sizes(in), [&](const auto& at) {
      C product = 1;
      for (std::size_t i = 0; i < in.size(); ++i) product *= x[i][place(operands[i], in[i].shape(), at)];
      y[place(output, out, at)] += product;
    });
    return y;
  }

  // This version is for real operands, because complex products give NaN in more cases.
  std::vector<double> forward_real(Ins in) const {
    const Shape out = shape(in);
    std::vector<double> y(static_cast<std::size_t>(numel(out)), 0);
    each(sizes(in), [&](const auto& at) {
      double product = 1;
      for (std::size_t i = 0; i < in.size(); ++i)
        product *= in[i].template data<double>()[place(operands[i], in[i].shape(), at)];
      y[place(output, out, at)] += product;
    });
    return y;
  }

  std::vector<std::vector<C>> gradients(Ins in, const std::vector<C>& cotangent) const {
    const Shape out = shape(in);
    std::vector<std::vector<C>> x, g;
    for (const Tensor& operand : in) {
      x.push_back(elements(operand));
      g.emplace_back(x.back().size(), 0);
    }
    each(sizes(in), [&](const auto& at) {
      for (std::size_t i = 0; i < in.size(); ++i) {
        C product = cotangent[place(output, out, at)];
        for (std::size_t j = 0; j < in.size(); ++j)
          if (j != i) product *= std::conj(x[j][place(operands[j], in[j].shape(), at)]);
        g[i][place(operands[i], in[i].shape(), at)] += product;
      }
    });
    return g;
  }
};

// An equation, the loops that compute it, and the shapes of the operands.
struct Equation {
  std::string equation;
  LoopNest nest;
  std::vector<Shape> shapes;
};

// A sequence of random whole numbers below a bound.
class LetterDice {
 public:
  explicit LetterDice(std::uint64_t seed) : random_(seed) {}
  std::size_t operator()(std::size_t bound) {
    return static_cast<std::size_t>(random_.uniform(next_++) * static_cast<double>(bound));
  }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

// Returns a random equation with up to five operands, five letters, and two axes for "...", P and Q. Q is the last
// axis. Some axes have size 1.
Equation random_equation(std::uint64_t seed) {
  LetterDice dice(seed);
  const std::string letters = "abcdE", ellipsis = "PQ";
  std::map<char, std::int64_t> sizes;
  for (char label : letters + ellipsis) sizes[label] = static_cast<std::int64_t>(1 + dice(4));
  Equation t;
  std::size_t dots = 0;
  std::string used;
  const bool with_dots = dice(2) == 0;
  for (std::size_t count = 1 + dice(5), i = 0; i < count; ++i) {
    std::string term;
    std::map<char, std::int64_t> own;
    for (std::size_t rank = dice(4); rank > 0; --rank) term += letters[dice(letters.size())];
    std::string written = term;
    if (with_dots && dice(3) != 0) {
      const std::size_t axes = dice(3), at = dice(term.size() + 1);
      term.insert(at, ellipsis.substr(2 - axes));
      written.insert(at, "...");
      dots = std::max(dots, axes);
    }
    Shape shape;
    for (char label : term) {
      if (!own.count(label)) own[label] = dice(6) == 0 ? 1 : sizes[label];
      shape.push_back(own[label]);
    }
    if (dice(5) == 0) written.insert(dice(2) * written.size(), " ");
    t.equation += (i ? "," : "") + written;
    t.nest.operands.push_back(term);
    t.shapes.push_back(shape);
    used += term;
  }
  const std::string axes = ellipsis.substr(2 - dots);
  std::string output;
  for (char label : std::string("Eabcd"))
    if (std::count(used.begin(), used.end(), label) == 1) output += label;
  if (dice(3) == 0) {
    t.nest.output = axes + output;
    return t;
  }
  output.clear();
  for (char label : letters)
    if (used.find(label) != std::string::npos && dice(2) == 0) output.insert(dice(output.size() + 1), 1, label);
  std::string written = output;
  if (with_dots && dice(4) != 0) {
    const std::size_t at = dice(output.size() + 1);
    output.insert(at, axes);
    written.insert(at, "...");
  }
  t.equation += "->" + written;
  t.nest.output = output;
  return t;
}

double distance(const Tensor& got, const std::vector<C>& want, const Shape& shape) {
  return max_difference(got, Tensor::from(want, shape));
}

void check_against_loops(const Equation& t, DType dtype, double tolerance) {
  CAPTURE(t.equation);
  CAPTURE(dtype_name(dtype));
  std::vector<Tensor> in;
  for (std::size_t i = 0; i < t.shapes.size(); ++i) {
    const Tensor x = random_tensor({t.shapes[i], -1, 1, 0, is_complex(dtype) ? DType::c128 : DType::f64}, 10 + i);
    in.push_back(x.dtype() == dtype ? x : to_single(x));
  }
  const Function run = [&](Ins x) { return einsum(t.equation, x); };
  const Differentiated got = differentiate(run, in, std::vector<bool>(in.size(), true));
  const Shape shape = t.nest.shape(in);
  CHECK(distance(got.y, t.nest.forward(in), shape) <= tolerance);
  Tensor cotangent = random_tensor({shape, -1, 1, 0, is_complex(dtype) ? DType::c128 : DType::f64}, 7);
  if (cotangent.dtype() != dtype) cotangent = to_single(cotangent);
  const auto want = t.nest.gradients(in, elements(cotangent));
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(distance(got.gradients[i], want[i], in[i].shape()) <= tolerance);
}

// Converts an equation without "..." and spaces to loops over its letters.
LoopNest nest_of(const std::string& equation) {
  LoopNest nest;
  const std::size_t arrow = equation.find("->");
  nest.output = equation.substr(arrow + 2);
  std::string term;
  for (char c : equation.substr(0, arrow) + ",") {
    if (c != ',') term += c;
    else {
      nest.operands.push_back(term);
      term.clear();
    }
  }
  return nest;
}

OpCase einsum_case(const std::string& equation, const std::vector<Shape>& shapes, bool is_complex_case = false) {
  std::vector<In> inputs;
  for (const Shape& shape : shapes) inputs.push_back(is_complex_case ? complex_in(shape) : In{shape});
  const auto oracle = [=](Ins in) {
    const LoopNest nest = nest_of(equation);
    const Tensor y = Tensor::from(nest.forward(in), nest.shape(in));
    return is_complex_case ? y : real(y);
  };
  return {"einsum " + equation + (is_complex_case ? " complex" : ""), inputs,
          [=](Ins in) { return einsum(equation, in); }, oracle};
}

const OpCases einsum_cases{
    einsum_case("ij,jk->ik", {{4, 5}, {5, 3}}),
    einsum_case("ij,jbd->ibd", {{5, 5}, {5, 2, 3}}),
    einsum_case("nmd,bmd->bnd", {{3, 3, 9}, {2, 3, 9}}),
    einsum_case("bnd,nd->d", {{2, 3, 9}, {3, 9}}),
    einsum_case("abkl,lkc->abc", {{2, 3, 4, 5}, {5, 4, 2}}),
    einsum_case("akbl,ckl->bca", {{2, 3, 4, 5}, {2, 3, 5}}),
    einsum_case("bhnd,bhmd->bhnm", {{2, 2, 3, 4}, {2, 2, 5, 4}}),
    einsum_case("i,i->", {{19}, {19}}),
    einsum_case("i,j->ij", {{3}, {4}}),
    einsum_case("ii->i", {{4, 4}}),
    einsum_case("iij,i->j", {{3, 3, 4}, {3}}),
    einsum_case("ijk->ki", {{2, 3, 4}}),
    einsum_case("ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 2}}),
    einsum_case("ij,j,k->k", {{3, 4}, {1}, {2}}),
    einsum_case("ij,jk->ik", {{3, 0}, {0, 2}}),
    einsum_case("ij,jk->ik", {{0, 3}, {3, 2}}),
    einsum_case("ij,jk->ik", {{4, 5}, {5, 3}}, true),
    einsum_case("bij,bjk,k->ib", {{2, 3, 4}, {2, 4, 3}, {3}}, true),
    einsum_case("bnd,nd->bnd", {{2, 3, 4}, {3, 4}}, true),
    einsum_case("bnd,nd->bd", {{2, 3, 9}, {3, 9}}, true),
};

}  // namespace

TEST_CASE("einsum: random equations against loops, values and gradients") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Equation t = random_equation(seed);
    check_against_loops(t, DType::f64, 1e-11);
    check_against_loops(t, DType::f32, 2e-3);
    check_against_loops(t, DType::c128, 1e-11);
    if (seed % 4 == 0) check_against_loops(t, DType::c64, 2e-3);
  }
}

TEST_CASE("einsum: products over contiguous and scattered axes, on every instruction set") {
  const std::pair<const char*, std::vector<Shape>> equations[] = {
      {"nmd,bmd->bnd", {{5, 6, 150}, {3, 6, 150}}}, {"kld,lkd->d", {{3, 4, 33}, {4, 3, 33}}},
      {"ad,bd->abd", {{3, 40}, {4, 40}}},           {"dkm,kdn->dmn", {{3, 40, 20}, {40, 3, 35}}},
      {"mk,kn->nm", {{30, 20}, {20, 45}}},          {"amk,kbn->mban", {{2, 20, 9}, {9, 2, 35}}},
      {"bcf,fc->bf", {{5, 6, 19}, {19, 6}}},        {"abcd,efcd->eafb", {{3, 4, 2, 5}, {5, 6, 2, 5}}}};
  for_every_isa([&] {
    for (const auto& [equation, shapes] : equations)
      for (DType dtype : {DType::f32, DType::f64, DType::c128})
        check_against_loops({equation, nest_of(equation), shapes}, dtype, dtype == DType::f32 ? 3e-5 : 1e-12);
  });
}

TEST_CASE("einsum: many operands") {
  Equation chain{"", {}, {}};
  for (int i = 0; i < 11; ++i) {
    const std::string term{static_cast<char>('a' + i), static_cast<char>('a' + i + 1)};
    chain.equation += (i ? "," : "") + term;
    chain.nest.operands.push_back(term);
    chain.shapes.push_back({1 + (i + 1) % 2, 1 + i % 2});
  }
  chain.nest.output = "al";
  chain.equation += "->al";
  check_against_loops(chain, DType::f64, 1e-11);
  CHECK(plan_einsum(chain.equation, chain.shapes).steps.size() == 10);
}

TEST_CASE("einsum: the order of the products") {
  // (A B) c needs 100·100·100 + 100·100 products, and A (B c) needs 2·100·100.
  const EinsumPlan chain = plan_einsum("ij,jk,k->i", {{100, 100}, {100, 100}, {100}});
  CHECK(chain.steps[0].left + chain.steps[0].right == 1 + 2);
  CHECK(chain.steps[0].labels == Labels{'j'});
  // The cheapest order needs 19440 products but has an intermediate result of 2700 elements. The largest operand has
  // 1800.
  const EinsumPlan capped = plan_einsum("eac,cde,be,a,bda->d", {{30, 30, 2}, {2, 3, 30}, {5, 30}, {30}, {5, 3, 30}});
  const std::map<int, std::int64_t> sizes = {{'a', 30}, {'b', 5}, {'c', 2}, {'d', 3}, {'e', 30}};
  for (const EinsumStep& step : capped.steps) {
    std::int64_t elements = 1;
    for (int label : step.labels) elements *= sizes.at(label);
    CHECK(elements <= 1800);
  }
  // There are more operands than the exact search handles. Without the limit, there would be intermediate results of
  // 4096 elements.
  const std::string many = "befj,acgh,acdf,acgj,dhi,abdf,agi,adh,abehj->";
  const std::map<int, std::int64_t> letters = {{'a', 2},  {'b', 4}, {'c', 2}, {'d', 4}, {'e', 8},
                                               {'f', 16}, {'g', 8}, {'h', 8}, {'i', 4}, {'j', 2}};
  std::vector<Shape> shapes(1);
  for (char c : many.substr(0, many.find('-'))) {
    if (c == ',') shapes.emplace_back();
    else shapes.back().push_back(letters.at(c));
  }
  const EinsumPlan greedy = plan_einsum(many, shapes);
  CHECK(greedy.steps.size() == 8);
  for (const EinsumStep& step : greedy.steps) {
    std::int64_t elements = 1;
    for (int label : step.labels) elements *= letters.at(label);
    CHECK(elements <= 1024);  // the size of the first operand
  }
  // Every order has a large intermediate result, but einsum still finds a plan.
  CHECK(plan_einsum("ab,bc,cd,da->", {{2, 9}, {9, 2}, {2, 9}, {9, 2}}).steps.size() == 3);
}

// Uses only equations with a single product, because otherwise einsum may sum factors before it multiplies them.
TEST_CASE("einsum: NaN and infinity propagate as in loops") {
  const double inf = std::numeric_limits<double>::infinity(), special[] = {inf, -inf, std::nan(""), 0, 0};
  const std::pair<const char*, std::vector<Shape>> equations[] = {
      {"ij,jk->ik", {{9, 7}, {7, 20}}},     {"nmd,bmd->bnd", {{5, 6, 20}, {3, 6, 20}}},
      {"ij,jbd->ibd", {{5, 5}, {5, 2, 9}}}, {"i,j->ij", {{6}, {9}}},
      {"bnd,nd->bd", {{2, 3, 9}, {3, 9}}},  {"akb,kc->abc", {{4, 5, 3}, {5, 3}}},
      {"ok,ijk->ioj", {{2, 8}, {4, 5, 8}}}};
  for_every_isa([&] {
    for (const auto& [equation, shapes] : equations)
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        LetterDice dice(seed);
        std::vector<Tensor> in;
        for (const Shape& shape : shapes) {
          in.push_back(random_tensor({shape}, seed + in.size()));
          const auto at = dice(static_cast<std::size_t>(in.back().numel()));
          in.back().mutable_data<double>()[at] = special[dice(5)];
        }
        const std::string text = equation;
        const LoopNest nest = nest_of(text);
        CAPTURE(text);
        CAPTURE(seed);
        const auto got = einsum(text, in).to_vector<double>();
        const auto want = nest.forward_real(in);
        int wrong = 0;
        for (std::size_t i = 0; i < want.size(); ++i)
          wrong += std::isnan(want[i])   ? !std::isnan(got[i])
                   : std::isinf(want[i]) ? got[i] != want[i]
                                         : !(std::abs(got[i] - want[i]) <= 1e-12);
        CHECK(wrong == 0);
      }
  });
}

}  // namespace weft::test
