"""The rules of plain English that a program can check, for `scripts/lint prose`. Arguments: files. Exits with 1 after a finding."""

import re
import sys

WIDTH_MAX = 120
WORDS_MAX = 30

OPENING = re.compile(r"(what|whom|whose|who|which|how|that|tells?|told|says?|said|answers?|(is|are|was) told)\b", re.IGNORECASE)
# A forbidden phrase, and the words to use in its place.
PHRASES = {
    r"\b(that|which|who) (is|are|was|were) none\b": "if there is none",
    r"\b(is|are|was|were|be|been|gets?) told\b": "is notified, reports",
    r"\btells? (it|them|us|him|what|that|whether|when|how|who|whom|of|nobody|everyone|apart)\b": "reports, returns, shows",
    r"\bbesides?\b": "alongside, next to, in addition",
    r"\bbe (it|they) \w+ or\b": "whether or not",
    r"\bwhom\b": "a noun phrase",
    r"\bbecame of\b": "the result of",
    r"\bin vain\b": "without effect",
    r"\b(nobody's|no one's)\b": "a noun phrase",
    r"\bit is he who\b": "a plain subject",
    r"\b(whereof|whereby|thereof|hereby|hitherto|henceforth)\b": "plain words",
}


def is_hashed(path):
    """Whether comments begin with `#`: in Python and in shell scripts, most of which have no file extension."""
    return path.endswith((".py", ".sh")) or "." not in path.rsplit("/", 1)[-1]


def blocks(path, text):
    """Yields each comment as (first line's number, whether it documents a declaration, its lines without the marks)."""
    marker = r"#(?!!)" if is_hashed(path) else r"///?"
    lines, start, block, mark = text.split("\n"), 0, [], None
    for number, line in enumerate([*lines, ""], 1):
        found = re.match(rf"\s*({marker}) ?(.*)$", line)
        if found and (mark is None or mark == found[1]):
            if not block:
                start, mark = number, found[1]
            block.append(found[2])
            continue
        if block:
            yield start, mark == "///", block
        block, mark = ([found[2]], found[1]) if found else ([], None)
        start = number
    if path.endswith((".js", ".ts")):
        for found in re.finditer(r"/\*\*(.*?)\*/", text, re.DOTALL):
            yield text[: found.start()].count("\n") + 1, True, [described(line) for line in found[1].split("\n")]
    if path.endswith(".py"):
        for found in re.finditer(r'"""(.*?)"""', text, re.DOTALL):
            if text[: found.start()].rstrip().endswith((":", "")) and text[: found.start()].rsplit("\n", 1)[-1].strip() == "":
                yield text[: found.start()].count("\n") + 1, False, found[1].split("\n")


def described(line):
    """The words of a line of JSDoc: without its asterisk, and without tags, whose types are code."""
    return re.sub(r"(^|\s)@\w.*$", "", re.sub(r"^\s*\* ?", "", line))


def plain(line):
    """The line without its code, links and quotations: those are not the writer's words."""
    line = re.sub(r"``?[^`]*``?", "CODE", line)
    line = re.sub(r"<?https?://\S+", "LINK", line)
    return re.sub(r'"[^"]*"', "QUOTE", line)


def sentences(lines):
    """Yields (offset of the line it begins in, words). List items, table rows and blank lines end a sentence."""
    start, words = 0, []
    for offset, line in enumerate(lines):
        if not line.strip() or re.match(r"\s*([-*|#]|\d+\.) ?", line) or line.strip().startswith("```"):
            if words:
                yield start, words
            start, words = offset, []
        for word in plain(line).split():
            if not words:
                start = offset
            if re.search(r"\w", word):
                words.append(word)
            if re.search(r"[.!?][)\"']*$", word) and not re.search(r"\b(e\.g|i\.e|etc|vs)\.$", word):
                yield start, words
                words = []
    if words:
        yield start, words


def findings(path):
    text = open(path, encoding="utf-8").read()
    if path.endswith(".md"):
        code = False
        for number, line in enumerate(text.split("\n"), 1):
            code ^= line.strip().startswith("```")
            for pattern, instead in () if code else PHRASES.items():
                if found := re.search(pattern, plain(line), re.IGNORECASE):
                    yield number, f"'{found[0]}': write {instead}"
        return
    for start, documents, lines in blocks(path, text):
        first = next((offset for offset, line in enumerate(lines) if line.strip()), 0)
        if found := OPENING.match(lines[first].strip()):
            yield start + first, f"opens with '{found[0]}': begin with a noun phrase or an active verb"
        for offset, line in enumerate(lines):
            for pattern, instead in PHRASES.items():
                if found := re.search(pattern, plain(line), re.IGNORECASE):
                    yield start + offset, f"'{found[0]}': write {instead}"
        if documents:
            for offset, words in sentences(lines):
                if len(words) > WORDS_MAX:
                    yield start + offset, f"a sentence of {len(words)} words: split it (at most {WORDS_MAX})"
    mark = r"\s*#" if is_hashed(path) else r"\s*//"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > WIDTH_MAX and re.match(mark, line) and "http" not in line:
            yield number, f"a comment of {len(line)} columns (at most {WIDTH_MAX})"
    for found in re.finditer(r'(?:help|abstract|discussion):\s*"+\s*([^"]*)', text) if path.endswith(".swift") else ():
        if OPENING.match(found[1]):
            yield text[: found.start()].count("\n") + 1, f"a help text opens with '{found[1].split()[0]}'"


count = 0
for path in sys.argv[1:]:
    for number, reason in findings(path):
        print(f"{path}:{number}: {reason}")
        count += 1
sys.exit(1 if count else 0)
