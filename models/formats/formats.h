// The checkpoint formats that weft provides. Some files define two similar formats. To add a format, add a line to the
// table in formats.cpp.
#pragma once
#include "weft/checkpoint_format.h"

namespace weft::detail {

CheckpointFormat weft_format();
CheckpointFormat huggingface_fnet_format();
CheckpointFormat labml_gmlp_format();
CheckpointFormat labml_fnet_format();
CheckpointFormat g_mlp_pytorch_format();
CheckpointFormat fairseq_tnn_format();
CheckpointFormat tnn_pytorch_format();

}  // namespace weft::detail
