// A host program of the shared library, compiled as C++17. Types and exceptions cross the library's boundary in both
// directions.
#include <weft/weft.h>

#include <cstdio>
#include <typeinfo>

namespace {

int failed = 0;
void expect(bool right, const char* what) {
  if (right) return;
  std::printf("failed: %s\n", what);
  ++failed;
}

// An operation and a sink that the host defines.
struct Twice : weft::Op {
  const char* name() const noexcept override { return "twice"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  weft::Shape shape(const weft::Inputs& in) const override { return in[0].shape(); }
  weft::Tensor forward(const weft::Inputs& in, const weft::Shape&) override { return weft::add(in[0], in[0]); }
  void backward(weft::Backward& b) const override { b.add(0, weft::add(b.gradient(), b.gradient())); }
};

struct Refusing : weft::GradientSink {
  void complete(const weft::Leaf&, weft::Tensor) override { throw weft::Error("[host] no"); }
};

// Returns which exception f throws, according to the first handler that catches it.
template <class F>
std::string thrown(F f) {
  try {
    f();
  } catch (const weft::Error& error) {
    return std::string("Error ") + error.what();
  } catch (const std::exception& error) {
    return std::string("another ") + typeid(error).name();
  }
  return "nothing";
}

void exceptions() {
  expect(thrown([] { weft::numel({-1}); }).rfind("Error ", 0) == 0, "the library's Error is caught");
  try {
    weft::numel({-1});
  } catch (const std::exception& error) {
    expect(dynamic_cast<const weft::Error*>(&error) != nullptr, "dynamic_cast to Error");
    expect(typeid(error) == typeid(weft::Error), "one typeinfo of Error");
  }
  const auto refuse = [](std::int64_t, std::int64_t) { throw weft::Error("[host] no"); };
  expect(thrown([&] { weft::Context::current().parallel_for(8, 1, refuse); }) == "Error [host] no",
         "the host's Error through parallel_for");
  weft::Tape tape;
  const weft::Tensor x = tape.watch(weft::Tensor::full({2}, 3));
  Refusing sink;
  expect(thrown([&] { tape.backward(weft::sum(x), sink); }) == "Error [host] no", "the host's Error through backward");
}

void types() {
  weft::ModelSpec spec;
  spec.arch = "gmlp";
  spec.vocabulary = 10;
  const std::unique_ptr<weft::Model> model = weft::make_model(spec, weft::Init{weft::Random(1)});
  expect(dynamic_cast<weft::Gmlp*>(model.get()) != nullptr, "dynamic_cast of a model that the library made");
  expect(dynamic_cast<weft::Fnet*>(model.get()) == nullptr, "no dynamic_cast to another model");

  weft::Tape tape;
  const weft::Tensor x = tape.watch(weft::Tensor::full({2}, 3));
  weft::Gradients gradients;
  tape.backward(weft::sum(weft::apply_op(Twice{}, {x})), gradients);
  expect(gradients.of(x).to_vector<float>() == std::vector<float>{2, 2}, "an operation of the host");
}

}  // namespace

int main() {
  exceptions();
  types();
  return failed == 0 ? 0 : 1;
}
