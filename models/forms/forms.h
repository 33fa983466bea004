// The checkpoint formats that weft provides. Some files define two similar formats. To add a format, add a line to the
// table in forms.cpp.
#pragma once
#include "weft/checkpoint_form.h"

namespace weft::detail {

CheckpointForm weft_form();
CheckpointForm huggingface_fnet_form();
CheckpointForm labml_gmlp_form();
CheckpointForm labml_fnet_form();
CheckpointForm g_mlp_pytorch_form();
CheckpointForm fairseq_tnn_form();
CheckpointForm tnn_pytorch_form();

}  // namespace weft::detail
