// tomlplusplus as part of the program, for portable builds: distributions have it as shared only.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
