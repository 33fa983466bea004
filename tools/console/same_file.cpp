#include "console/same_file.h"

#include <filesystem>

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto path = std::filesystem::weakly_canonical(a, error);
  return !error && path == std::filesystem::weakly_canonical(b, error) && !error;
}
