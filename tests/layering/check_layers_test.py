#!/usr/bin/env python3
# Plants one violation of each rule in a small tree and expects the checker to name it.
import pathlib
import tempfile
import tomllib
import unittest

import check_layers
import source_text

LAYERS = tomllib.loads((pathlib.Path(__file__).parent / 'layers.toml').read_text())


class CheckerTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)
        rows = []
        for folder, uses in LAYERS['may_use'].items():
            (self.root / 'src' / folder).mkdir(parents=True, exist_ok=True)
            rows.append(f'| `{folder}/` | what | {", ".join(uses) or "nothing"} |')
        self.write('ARCHITECTURE.md', '\n'.join(rows) + '\n')
        self.write('src/base/a.h', '// A.\n#pragma once\n')
        self.write('src/net/b.h', '// B.\n#pragma once\n#include "base/a.h"\n')

    def tearDown(self):
        self.directory.cleanup()

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def errors(self):
        checker = check_layers.Checker(self.root, LAYERS)
        checker.run()
        return checker.errors

    def assert_one(self, *parts):
        errors = self.errors()
        self.assertEqual(len(errors), 1, errors)
        for part in parts:
            self.assertIn(part, errors[0])

    def test_a_good_tree_is_good(self):
        self.assertEqual(self.errors(), [])

    def test_include_against_the_table(self):
        self.write('src/base/c.h', '// C.\n#pragma once\n#include "net/b.h"\n')
        self.assert_one('src/base/c.h:3', 'base/ may not use net/')

    def test_nothing_includes_daemon(self):
        self.write('src/daemon/d.h', '// D.\n#pragma once\n')
        self.write('src/testing/t.h', '// T.\n#pragma once\n#include "daemon/d.h"\n')
        self.assert_one('testing/ may not use daemon/')

    def test_protocol_is_a_folder_of_its_own(self):
        self.write('src/rpc/server.h', '// S.\n#pragma once\n')
        self.write('src/rpc/protocol/p.h', '// P.\n#pragma once\n#include "rpc/server.h"\n')
        self.write('src/cli/c.h', '// C.\n#pragma once\n#include "rpc/protocol/p.h"\n')
        self.assert_one('rpc/protocol/ may not use rpc/')

    def test_config_sees_only_options(self):
        self.write('src/rpc/options.h', '// O.\n#pragma once\n')
        self.write('src/config/c.h',
                   '// C.\n#pragma once\n#include "rpc/options.h"\n#include "net/b.h"\n')
        self.assert_one('config/ may not use net/')

    def test_include_that_does_not_start_at_src(self):
        self.write('src/net/c.h', '// C.\n#pragma once\n#include "b.h"\n')
        self.assert_one('"b.h" is no file under src/')

    def test_private_headers(self):
        self.write('src/net/c.h', '// C.\n#pragma once\n#include <boost/asio.hpp>\n')
        self.assert_one('belongs in a .cpp file')

    def test_link_list_against_the_table(self):
        self.write('src/base/CMakeLists.txt',
                   'dynolog_library(base SOURCES a.cpp\n  USES dynolog_net)\n')
        self.assert_one('base/ may not link net/')

    def test_unit_tests_may_link_testing(self):
        self.write('src/net/CMakeLists.txt',
                   'dynolog_unit_tests(net SOURCES x_test.cpp USES dynolog_testing)\n')
        self.assertEqual(self.errors(), [])

    def test_unlisted_test(self):
        self.write('src/net/CMakeLists.txt', 'dynolog_library(net SOURCES other_b_test.cpp)\n')
        self.write('src/net/b_test.cpp', '// B.\n')
        self.assert_one('src/net/b_test.cpp', 'no CMakeLists.txt lists this file')

    def test_banned_calls(self):
        self.write('src/net/CMakeLists.txt', 'dynolog_library(net SOURCES x.cpp x_test.cpp)\n')
        lines = ['::usleep(5);', 'std::this_thread::sleep_for(x);', 'system("x");', 'strerror(e);',
                 'std::random_device d;', 'sprintf(b, "x");', 'std::rand();', 'popen("x", "r");']
        self.write('src/net/x.cpp', '// X.\n' + '\n'.join(lines) + '\n')
        self.write('src/net/x_test.cpp',
                   '// X.\nsnprintf(b, 1, "sleep(1)");  // sleep(1)\nsystem("x");\n'
                   'file_system(1);\n')
        errors = self.errors()
        self.assertEqual(len(errors), len(lines), errors)

    def test_text_rules(self):
        self.write('src/net/c.h', 'int a;\n')
        self.write('src/net/d.h', '// D.\n#pragma once\n// ' + 'x' * 98 + '\n')
        errors = self.errors()
        self.assertEqual(len(errors), 3, errors)

    def test_function_length(self):
        self.write('src/net/CMakeLists.txt', 'dynolog_library(net SOURCES x.cpp)\n')
        body = '  if (a) {\n    b();\n  }\n' * 25
        self.write('src/net/x.cpp', '// X.\nnamespace a {\nX::X(int a) : a_{a}, b_(a) {\n' + body +
                   '}\n}  // namespace a\n')
        self.assert_one('src/net/x.cpp:3', 'a function of 77 lines')

    def test_parser_without_a_fuzzer(self):
        self.write('src/kernel/x.h', '// X.\n#pragma once\n\nint parse_x(std::string_view text);\n')
        self.assert_one('src/kernel/x.h:4', 'no target of tests/fuzz calls parse_x()')
        self.write('tests/fuzz/CMakeLists.txt', 'dynolog_fuzzer(x_fuzz dynolog_kernel)\n')
        self.write('tests/fuzz/x_fuzz.cpp', '// X.\nint a = parse_x("");\n')
        self.assertEqual(self.errors(), [])

    def test_architecture_must_agree(self):
        text = (self.root / 'ARCHITECTURE.md').read_text()
        self.write('ARCHITECTURE.md', text.replace('| `net/` | what | base |',
                                                   '| `net/` | what | base, metrics |'))
        self.assert_one('its row net/ differs', 'metrics')


class SourceTextTest(unittest.TestCase):
    def test_literals_and_digit_separators(self):
        text = "int a = 1'000; // x\nauto b = R\"(sleep(\n))\"; char c = '\"'; f(\"//\");\n"
        code = source_text.blanked(text)
        self.assertNotIn('sleep', code)
        self.assertIn("1'000;", code)
        self.assertIn('f("', code)
        self.assertEqual(code.count('\n'), text.count('\n'))

    def test_functions_in_classes_and_after_initialisers(self):
        text = ('struct A {\n  int x{1};\n  int f() const {\n    return [] { return 1; }();\n  }\n'
                '};\nconstexpr std::array kX{\n    1,\n};\nvoid g() {\n}\n')
        self.assertEqual([(line, length) for line, length, _ in source_text.functions(text)],
                         [(3, 3), (10, 2)])


if __name__ == '__main__':
    unittest.main()
