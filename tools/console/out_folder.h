// Where a command writes a checkpoint that it made of another.
#pragma once
#include <string>
#include <vector>

struct OutFolder {
  std::string name, folder;        // the argument's name, and its value
  std::string done;                // "quantised": what is done with what is read
  std::vector<std::string> reads;  // files and folders that are read; empty names are none
  bool overwrite = false;
  std::vector<std::string> files = {"model.safetensors", "config.json"};  // that are written or removed there

  // Error for what stays where it is: runs, other checkpoints unless told so, and what is read.
  void check() const;
};

// The folder that a folder is in.
std::string parent_of(const std::string& folder);
