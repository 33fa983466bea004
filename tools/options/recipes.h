// A recipe is a complete experiment with a name. It is a file in tools/recipes. The build embeds these files in the
// command. The file is a run.json with an additional object "recipe", which describes the experiment, the expected
// results and the source of each setting.
#pragma once
#include <string>
#include <vector>

struct Recipe {
  std::string name, json;
};

// Returns all recipes, sorted by name.
const std::vector<Recipe>& recipes();
std::vector<std::string> recipe_names();
// Throws an Error that suggests the nearest name if there is no such recipe.
const Recipe& recipe(const std::string& name);

// Describes the data that the recipe needs: "--text FILE: …".
std::string recipe_data(const Recipe& recipe);
// Returns an entry for each recipe with its description, expected results and time.
std::string list_recipes();
// Returns the recipe's data, expected results and commands, and all settings, grouped by their sources.
std::string describe_recipe(const Recipe& recipe);
