// The grammar is numpy's. An equation has terms separated by commas. A term consists of letters and at most one "...".
// "->" and the result's term may follow. Spaces are ignored. Without "->" the result has the axes of "...", followed by
// the letters that occur once, in the order of their characters.
#include <algorithm>
#include <map>

#include "dense/einsum.h"

namespace weft::detail {
namespace {

// A term of the equation; -1 stands for "...".
using Term = std::vector<int>;
constexpr int dots = -1;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Term parse_term(const std::string& equation, const std::string& text, const std::string& where) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      term.push_back(text[i]);
    } else if (text[i] == ' ') {
      continue;
    } else if (text[i] == '.') {
      if (text.compare(i, 3, "...") != 0)
        fail_einsum(equation, "expected '.' only in \"...\", got another '.' in " + where);
      if (std::count(term.begin(), term.end(), dots)) fail_einsum(equation, "expected at most one \"...\" in " + where);
      term.push_back(dots);
      i += 2;
    } else {
      fail_einsum(equation, std::string("unexpected character '") + text[i] + "' in " + where);
    }
  }
  return term;
}

std::vector<Term> parse_operands(const std::string& equation, const std::string& text) {
  std::vector<Term> terms;
  for (std::size_t from = 0;;) {
    const std::size_t comma = text.find(',', from);
    const std::string where = "operand " + std::to_string(terms.size());
    terms.push_back(parse_term(equation, text.substr(from, comma == std::string::npos ? comma : comma - from), where));
    if (comma == std::string::npos) return terms;
    from = comma + 1;
  }
}

// Returns the term with `axes` labels in place of "...".
Labels spelled_out(const Term& term, std::size_t axes) {
  Labels labels;
  for (int label : term) {
    if (label != dots) labels.push_back(label);
    else
      for (std::size_t i = axes; i-- > 0;) labels.push_back(ellipsis_label + static_cast<int>(i));
  }
  return labels;
}

Labels implicit_output(const std::vector<Term>& terms, std::size_t axes) {
  std::map<int, int> times;
  for (const Term& term : terms)
    for (int label : term) ++times[label];
  Labels output = spelled_out({dots}, axes);
  for (const auto& [label, count] : times)
    if (label != dots && count == 1) output.push_back(label);
  return output;
}

Labels explicit_output(const std::string& equation, const std::string& text, const std::vector<Term>& terms,
                       std::size_t axes) {
  const Term output = parse_term(equation, text, "the output");
  for (int label : output) {
    if (label == dots) continue;
    const std::string name(1, static_cast<char>(label));
    if (std::count(output.begin(), output.end(), label) > 1)
      fail_einsum(equation, "index " + name + " occurs twice in the output");
    const bool known = std::any_of(terms.begin(), terms.end(),
                                   [&](const Term& term) { return std::count(term.begin(), term.end(), label) > 0; });
    if (!known) fail_einsum(equation, "index " + name + " of the output is in no operand");
  }
  return spelled_out(output, axes);
}

std::string counted(std::size_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

}  // namespace

void fail_einsum(const std::string& equation, const std::string& what) {
  fail("einsum", "\"" + equation + "\": " + what);
}

EinsumTerms parse_einsum(const std::string& equation, const std::vector<std::size_t>& ranks) {
  const std::size_t arrow = equation.find("->");
  const std::vector<Term> terms = parse_operands(equation, equation.substr(0, arrow));
  if (terms.size() != ranks.size())
    fail_einsum(equation,
                "expected " + counted(terms.size(), "operand", "operands") + ", got " + std::to_string(ranks.size()));
  EinsumTerms result;
  std::size_t axes = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool open = std::count(terms[i].begin(), terms[i].end(), dots) > 0;
    const std::size_t letters = terms[i].size() - (open ? 1 : 0);
    if (open ? ranks[i] < letters : ranks[i] != letters)
      fail_einsum(equation, "operand " + std::to_string(i) + " has " + counted(ranks[i], "axis", "axes") + " but " +
                                counted(letters, "index", "indices"));
    axes = std::max(axes, ranks[i] - letters);
    result.operands.push_back(spelled_out(terms[i], ranks[i] - letters));
  }
  result.output = arrow == std::string::npos ? implicit_output(terms, axes)
                                             : explicit_output(equation, equation.substr(arrow + 2), terms, axes);
  return result;
}

}  // namespace weft::detail
