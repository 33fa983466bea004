// Recipes: whole experiments by name. Each is a file in tools/recipes, which the build embeds in the command. It is a
// run.json with an additional object "recipe", which describes the experiment, the expected results and the source of
// each setting.
#pragma once
#include <string>
#include <vector>

struct Recipe {
  std::string name, json;
};

// Sorted by name.
const std::vector<Recipe>& recipes();
std::vector<std::string> recipe_names();
// Error, with the nearest name, if there is no such recipe.
const Recipe& recipe(const std::string& name);

// The data that the recipe needs: "--text FILE: …".
std::string recipe_data(const Recipe& recipe);
// An entry for each recipe: description, expected results and time.
std::string list_recipes();
// The commands, the expected results, and every setting below its source.
std::string describe_recipe(const Recipe& recipe);
