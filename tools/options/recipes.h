// Recipes: whole experiments by name. Each is a file of tools/recipes, which the build embeds in the command: a run.json
// with the object "recipe" beside the settings, which says what it is, what to expect, and where each setting comes from.
#pragma once
#include <string>
#include <vector>

struct Recipe {
  std::string name, json;
};

// By name.
const std::vector<Recipe>& recipes();
std::vector<std::string> recipe_names();
// Error, with the nearest name, if there is none of that name.
const Recipe& recipe(const std::string& name);

// What is to be learned from: "--text FILE: …".
std::string recipe_data(const Recipe& recipe);
// A line for each: what it is, what to expect and the time that it takes.
std::string list_recipes();
// The commands, what to expect, and every setting below its source.
std::string describe_recipe(const Recipe& recipe);
