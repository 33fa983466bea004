// The functions that define the parts of the module.
#pragma once
#include <nanobind/nanobind.h>

namespace weft::python {

void add_models(nanobind::module_& module);
void add_operations(nanobind::module_& module);
void add_training(nanobind::module_& module);
void add_tensors(nanobind::module_& module);
void add_functions(nanobind::module_& module);
void add_gradients(nanobind::module_& module);
void add_layers(nanobind::module_& module);
void add_command(nanobind::module_& module);  // only in a module with the command

}  // namespace weft::python
