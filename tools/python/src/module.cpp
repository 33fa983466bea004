// weft._weft: the C++ module of the package weft (src/weft/__init__.py, torch.py). It is private to the package.
#include <nanobind/nanobind.h>
#include <weft/context.h>
#include <weft/error.h>
#include <weft/version.h>

#include "bindings.h"
#include "rows.h"
#ifdef WEFT_PYTHON_SENTENCEPIECE
#include <weft/sentencepiece.h>
#endif

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_weft, m) {
  m.doc() = "The C++ module of the package weft.";
  nb::exception<weft::Error>(m, "Error", PyExc_RuntimeError);
  m.attr("version") = WEFT_VERSION;
  m.def("set_threads", &weft::set_default_threads, "count"_a);
  m.def("threads", [] { return weft::Context::current().threads(); });
  weft::python::add_models(m);
  weft::python::add_operations(m);
  weft::python::add_rows(m);
  weft::python::add_training(m);
  weft::python::add_tensors(m);
  weft::python::add_functions(m);
  weft::python::add_gradients(m);
  weft::python::add_layers(m);
#ifdef WEFT_PYTHON_COMMAND
  weft::python::add_command(m);
#endif
#ifdef WEFT_PYTHON_SENTENCEPIECE
  weft::register_sentencepiece();
#endif
}
