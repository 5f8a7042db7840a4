#!/usr/bin/env python3
# Checks the rules that no compiler checks: who includes and links whom, banned calls, lengths.
import argparse
import pathlib
import re
import sys
import tomllib

import source_text

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


class Checker:
    def __init__(self, root, layers):
        self.root = root
        self.src = root / 'src'
        self.layers = layers
        self.may_use = layers['may_use']
        self.banned = {re.compile(p): why for p, why in layers['banned'].items()}
        self.waiting = {re.compile(p): why for p, why in layers['banned_waiting'].items()}
        self.banned_outside_tests = {
            re.compile(p): why for p, why in layers['banned_outside_tests'].items()}
        self.errors = []
        self.notes = []

    def error(self, path, line, sentence):
        self.errors.append(f'{path.relative_to(self.root)}:{line}: {sentence}')

    def folder_of(self, relative):
        """The table's row for a path under src/: the longest that matches; None when none does."""
        parts = pathlib.PurePosixPath(relative).parts[:-1]
        for count in range(len(parts), 0, -1):
            name = '/'.join(parts[:count])
            if name in self.may_use:
                return name
        return None

    def sources(self, *folders):
        for folder in folders:
            for path in sorted((self.root / folder).rglob('*')):
                if path.suffix in ('.h', '.cpp'):
                    yield path

    # -- includes --

    def check_includes(self, path, text):
        folder = self.folder_of(path.relative_to(self.src).as_posix())
        if folder is None:
            self.error(path, 1, f'{path.parent.name}/ is not in the table of layers.toml')
            return
        for match in INCLUDE.finditer(text):
            line = text.count('\n', 0, match.start(2)) + 1
            if match.group(1) == '<':
                self.check_system_include(path, line, match.group(2))
            else:
                self.check_own_include(path, line, folder, match.group(2))

    def check_system_include(self, path, line, name):
        private = self.layers['private_headers']
        hidden = name.startswith(tuple(private['prefixes'])) and name not in private['except']
        if path.suffix == '.h' and hidden:
            self.error(path, line, f'<{name}> belongs in a .cpp file, not in a header')

    def check_own_include(self, path, line, folder, name):
        # A generated header stands in the tree as its template.
        if not (self.src / name).is_file() and not (self.src / f'{name}.in').is_file():
            self.error(path, line, f'"{name}" is no file under src/; includes start there')
            return
        other = self.folder_of(name)
        if other == folder or other in self.may_use[folder]:
            return
        if other == 'testing' and (path.stem.endswith(('_test', '_fixture')) or
                                   '_test_' in path.stem):
            return
        if folder in self.layers['options_only']['folders'] and name.endswith('options.h'):
            return
        self.error(path, line, f'{folder}/ may not use {other}/ ("{name}")')

    # -- link lists --

    def check_link_lists(self):
        for path in sorted(self.src.rglob('CMakeLists.txt')):
            folder = self.folder_of(path.relative_to(self.src).as_posix())
            if folder is None:
                continue
            text = re.sub(r'#[^\n]*', '', path.read_text())
            for call in re.finditer(r'(\w+)\s*\(([^()]*)\)', text):
                self.check_link_call(path, text.count('\n', 0, call.start()) + 1, folder, call)

    def check_link_call(self, path, line, folder, call):
        allowed = set(self.may_use[folder]) | {folder}
        allowed |= {name for name in self.may_use if name.startswith(folder + '/')}
        if call.group(1) == 'dynolog_unit_tests':
            allowed.add('testing')
        for library in re.findall(r'\bdynolog_(\w+)', call.group(2)):
            name = self.folder_of_library(library)
            if name is not None and name not in allowed:
                self.error(path, line, f'{folder}/ may not link {name}/')

    def folder_of_library(self, library):
        for name in self.may_use:
            if name.replace('/', '_') == library:
                return name
        return None  # a further library of one folder, or none of ours

    # -- every source is built --

    def check_listed(self, path, top):
        folder = path.parent
        while True:
            listing = folder / 'CMakeLists.txt'
            if listing.is_file():
                name = path.relative_to(folder).as_posix()
                listed = re.search(rf'(?<![\w./]){re.escape(name)}(?![\w.])', listing.read_text())
                if listed or self.listed_as_fuzzer(path, listing.read_text()):
                    return
            if folder == top or folder == self.root:
                break
            folder = folder.parent
        self.error(path, 1, 'no CMakeLists.txt lists this file')

    @staticmethod
    def listed_as_fuzzer(path, listing):
        # tests/fuzz names a target once, as the file is named.
        return path.stem.endswith('_fuzz') and re.search(rf'\b{path.stem}\b', listing)

    # -- text --

    def check_text(self, path, text):
        code = source_text.blanked(text)
        if not text.startswith('//'):
            self.error(path, 1, 'begins with no comment that says what the file is')
        if path.suffix == '.h' and '#pragma once' not in text:
            self.error(path, 1, 'has no #pragma once')
        self.check_columns(path, text)
        relative = path.relative_to(self.root).as_posix()
        free = relative.startswith(tuple(self.layers['waiting_allowed']['paths']))
        rules = {} if free else dict(self.waiting)
        rules |= self.banned
        if '_test' not in path.stem:
            rules |= self.banned_outside_tests
        for number, line in enumerate(code.split('\n'), 1):
            for pattern, instead in rules.items():
                match = pattern.search(line)
                if match:
                    self.error(path, number, f'{match.group(0).strip("( ")}: use {instead}')

    def check_columns(self, path, text):
        for number, line in enumerate(text.split('\n'), 1):
            if len(line) > self.layers['limits']['columns']:
                self.error(path, number, f'has {len(line)} columns')

    def check_functions(self, path, text):
        limits = self.layers['limits']
        for line, length, head in source_text.functions(text):
            sentence = f'a function of {length} lines: {head[-60:]}'
            if length > limits['function_lines']:
                self.error(path, line, f'{sentence} (at most {limits["function_lines"]})')
            elif length > limits['function_lines_soft']:
                self.notes.append(f'{path.relative_to(self.root)}:{line}: {sentence}')

    # -- fuzzers --

    def check_fuzzed(self):
        """Each parser of kernel text, but for what another one of its header calls."""
        targets = '\n'.join(path.read_text() for path in self.sources('tests/fuzz'))
        for path in sorted((self.src / 'kernel').glob('*.h')):
            text = source_text.blanked(path.read_text())
            for match in re.finditer(r'\b(?:parse|for_each)_\w+(?=\(std::string_view\b)', text):
                calls = rf'\b{match.group(0)}\('
                if not re.search(calls, targets) and len(re.findall(calls, text)) < 2:
                    line = text.count('\n', 0, match.start()) + 1
                    self.error(path, line, f'no target of tests/fuzz calls {match.group(0)}()')

    # -- ARCHITECTURE.md --

    def check_architecture(self):
        page = self.root / 'ARCHITECTURE.md'
        shown = {}
        for line in page.read_text().splitlines():
            match = re.match(r'\| `([\w/]+)/` \|.*\| ([^|]*) \|$', line)
            if match:
                shown[match.group(1)] = self.shown_folders(match.group(2))
        for folder, uses in self.may_use.items():
            if folder not in shown:
                self.error(page, 1, f'its table lacks {folder}/')
            elif shown[folder] != set(uses):
                odd = ', '.join(sorted(shown[folder] ^ set(uses)))
                self.error(page, 1, f'its row {folder}/ differs from layers.toml in: {odd}')
        for folder in shown.keys() - self.may_use.keys():
            self.error(page, 1, f'its table has {folder}/, layers.toml has not')

    def shown_folders(self, cell):
        cell = re.sub(r'\([^)]*\)', '', cell).strip()
        if cell == 'nothing':
            return set()
        names = {name.strip().strip('`') for name in cell.removeprefix('all but').split(',')}
        return set(self.may_use) - names if cell.startswith('all but') else names

    def run(self):
        for path in self.sources('src'):
            text = path.read_text()
            self.check_includes(path, text)
            self.check_text(path, text)
            self.check_functions(path, text)
            if path.suffix == '.cpp':
                self.check_listed(path, self.src)
        for path in self.sources('tests', 'bench'):
            text = path.read_text()
            self.check_text(path, text)
            self.check_functions(path, text)
            if path.suffix == '.cpp':
                self.check_listed(path, self.root)
        for folder in ('tests', 'scripts'):
            for path in sorted((self.root / folder).rglob('*.py')):
                self.check_columns(path, path.read_text())
        self.check_link_lists()
        self.check_fuzzed()
        self.check_architecture()


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--root', type=pathlib.Path, default=here.parent.parent)
    parser.add_argument('--layers', type=pathlib.Path, default=here / 'layers.toml')
    options = parser.parse_args()
    checker = Checker(options.root, tomllib.loads(options.layers.read_text()))
    checker.run()
    for note in checker.notes:
        print(f'note: {note}')
    for error in checker.errors:
        print(error)
    print(f'{len(checker.errors)} violations, {len(checker.notes)} notes')
    return 1 if checker.errors else 0


if __name__ == '__main__':
    sys.exit(main())
