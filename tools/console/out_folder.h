// The folder where a command writes a checkpoint that it made from another checkpoint.
#pragma once
#include <string>
#include <vector>

struct OutFolder {
  std::string name, folder;        // the argument's name, and its value
  std::string done;                // the operation, for messages: "quantized"
  std::vector<std::string> reads;  // files and folders that the command reads; empty names are ignored
  bool overwrite = false;
  std::vector<std::string> files = {"model.safetensors", "config.json"};  // files that are written or removed there

  // Throws an Error if the folder belongs to a run, if it contains a checkpoint (unless `overwrite`), or if it is one
  // of `reads`.
  void check() const;
};

std::string parent_of(const std::string& folder);
