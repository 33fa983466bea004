// Whether two paths name the same file.
#pragma once
#include <string>

// The function works even if the file does not exist yet.
bool same_file(const std::string& a, const std::string& b);
