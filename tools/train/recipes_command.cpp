#include <iostream>

#include "console/command.h"
#include "console/options.h"
#include "options/recipes.h"

Command recipes_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("recipes", "List the recipes for weft train --recipe, or show one of them");
  const auto name = std::make_shared<std::string>();
  add_text(*command, "name", "NAME", *name, "Recipe to show, with its commands, its settings and their sources",
           [](const std::string& typed) { (void)recipe(typed); });
  command->footer("Examples:\n  weft recipes\n  weft recipes gmlp-shakespeare");
  return {command, [name] {
            std::cout << (name->empty() ? list_recipes() : describe_recipe(recipe(*name)));
            return 0;
          }};
}
