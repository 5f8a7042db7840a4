# C++ source as the checks see it: without comments and strings, and cut into function bodies.
import re

_TOKEN = re.compile(
    r'R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'"
    r'|//[^\n]*|/\*.*?\*/',
    re.DOTALL)
_TYPE = re.compile(r'\b(class|struct|union|enum|namespace|extern)\b')


def blanked(text):
    """The text with comments and the insides of literals blanked; lines keep their numbers."""
    def blank(match):
        token = match.group(0)
        kept = re.sub(r'[^\n]', ' ', token)
        return '"' + kept[1:-1] + '"' if token[0] in '"R\'' else kept
    return _TOKEN.sub(blank, text)


def _closing(text, opening):
    depth = 0
    for at in range(opening, len(text)):
        if text[at] == '{':
            depth += 1
        elif text[at] == '}':
            depth -= 1
            if depth == 0:
                return at
    return len(text) - 1


def functions(text):
    """(first line, lines, head) of each function body; nested lambdas belong to their function."""
    code = re.sub(r'^[ \t]*#.*?(?<!\\)$', lambda m: re.sub(r'[^\n]', ' ', m.group(0)),
                  blanked(text), flags=re.MULTILINE | re.DOTALL)
    found = []
    at = 0
    head_start = 0
    while at < len(code):
        letter = code[at]
        if letter in ';}':
            head_start = at + 1
        elif letter == '{':
            head = code[head_start:at]
            if _TYPE.search(head.split('(')[0]):
                head_start = at + 1
            elif at > 0 and code[at - 1] in ' \n' and ')' in head:
                end = _closing(code, at)
                first = code.count('\n', 0, at) + 1
                found.append((first, code.count('\n', at, end) + 1, ' '.join(head.split())))
                at = end
                head_start = end + 1
            else:  # an initialiser, also of a constructor's member: part of what stands around it
                at = _closing(code, at)
        at += 1
    return found
