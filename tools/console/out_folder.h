// Where a command writes a checkpoint that it made from another.
#pragma once
#include <string>
#include <vector>

struct OutFolder {
  std::string name, folder;        // the argument's name, and its value
  std::string done;                // the operation, for messages: "quantized"
  std::vector<std::string> reads;  // files and folders that are read; empty names are ignored
  bool overwrite = false;
  std::vector<std::string> files = {"model.safetensors", "config.json"};  // files that are written or removed there

  // Error if the folder is a run, has a checkpoint (unless overwrite), or is one that is read.
  void check() const;
};

// The parent of a folder.
std::string parent_of(const std::string& folder);
