"""One university of the Lehigh University Benchmark, compiled.

Random draws → rows of text numbers, three per line → either N-Triples, or a batch for the dictionary as if that had been read.

A text is what stands in a line, its delimiter and a space included: `<http://www.University0.edu> `, `"Course7" `. Every text has a
number: those that all universities share come first, then the university's own, then a stretch of equal length per department.

Compiled functions here call none of another file: Numba's cache would not see a change there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel
from pyke.core.hashing import Dictionary
from pyke.graph.batches import LINES, LITERALS, TRIPLES, Batch

Rows = NDArray[
    np.int32
]  # (n, 3): the numbers of a subject, a predicate and an object; (n,): of texts
Random = NDArray[np.uint64]  # (1,): the state of the generator
Numbers = NDArray[
    np.int64
]  # all else that kernels pass on: one type, so that each is compiled once

# ---------------------------------------------------------------------------------------------------------------------
# What there is: the benchmark's quantities, and the number of each text
# ---------------------------------------------------------------------------------------------------------------------


def _numbers(count: int) -> Any:
    """0, 1, 2, … from an array: Numba compiles a function anew for each plain number that it is called with."""
    return np.arange(count)


PREDICATES = (
    "name", "emailAddress", "telephone", "researchInterest",  # the four with literals
    "rdf:type", "takesCourse", "teacherOf", "undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom", "advisor", "memberOf",
    "publicationAuthor", "headOf", "teachingAssistantOf", "subOrganizationOf", "worksFor",
)  # fmt: skip
(
    NAME,
    MAIL,
    TELEPHONE,
    INTEREST,
    TYPE,
    TAKES,
    TEACHES,
    BACHELOR,
    MASTER,
    DOCTOR,
    ADVISOR,
    MEMBER,
    AUTHOR,
    HEAD,
    ASSISTS,
    PART,
    WORKS,
) = _numbers(17)
FIRST_LINK = TYPE  # the predicates before it have literals

CLASSES = (
    "FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer", "UndergraduateStudent", "GraduateStudent",  # people
    "ResearchGroup", "Course", "GraduateCourse", "Publication",
    "Department", "University", "TeachingAssistant", "ResearchAssistant",
)  # fmt: skip
(
    FULL,
    _,
    _,
    LECTURER,
    UNDERGRADUATE,
    GRADUATE,
    GROUP,
    COURSE,
    HIGHER_COURSE,
    PUBLICATION,
    DEPARTMENT,
    UNIVERSITY,
    TEACHING,
    RESEARCH,
) = _numbers(14)

LEAST_DEPARTMENTS, MOST_DEPARTMENTS = 15, 25
# How many of a kind a department has, and how many publications each member of the faculty.
LEAST = np.array([7, 10, 8, 5], np.int64)
MOST = np.array([10, 14, 11, 7], np.int64)
LEAST_WRITTEN = np.array([15, 10, 5, 0], np.int64)
MOST_WRITTEN = np.array([20, 18, 10, 5], np.int64)
FACULTY = int(MOST.sum())
POOL, INTERESTS, COURSE_POOL = 1000, 30, 100

# The most individuals of each class in a department, up to publications.
MOST_OF = (
    *map(int, MOST),
    14 * FACULTY,
    4 * FACULTY,
    20,
    2 * FACULTY,
    2 * FACULTY,
    int((MOST * MOST_WRITTEN).sum()),
)
# The most different numbers behind a class's name: publications are counted for each author anew.
MOST_NAMES = (*MOST_OF[:PUBLICATION], int(MOST_WRITTEN.max()), MOST_DEPARTMENTS)


def _starts(first: int, sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Where stretches of these sizes begin, and where the last ends."""
    return np.cumsum([first, *sizes])


# Numbers of texts that all universities share ...
FIRST_CLASS = len(PREDICATES)
FIRST_UNIVERSITY = FIRST_CLASS + len(CLASSES)
FIRST_INTEREST = FIRST_UNIVERSITY + POOL
NUMBER = FIRST_INTEREST + INTERESTS  # of the telephone, which all people share
FIRST_NAME = _starts(NUMBER + 1, MOST_NAMES)  # by class
# ... of the university's own two, the IRI only for one that is not in the pool ...
OWN, OWN_NAME = int(FIRST_NAME[-1]), int(FIRST_NAME[-1]) + 1
FIRST_DEPARTMENT = OWN_NAME + 1
# ... and within a department, whose own IRI is the first: individuals by class, then an e-mail address for each person.
FIRST_OF = _starts(1, MOST_OF)
TO_MAIL = int(FIRST_OF[-1] - FIRST_OF[FULL])  # from a person to the address
STRIDE = int(FIRST_OF[-1] + FIRST_OF[GROUP] - FIRST_OF[FULL])
TEXTS = FIRST_DEPARTMENT + MOST_DEPARTMENTS * STRIDE

# The most lines of a department: seventeen for a member of the faculty, and so on, and five publications for a graduate student.
MOST_LINES = (
    6
    + 17 * FACULTY
    + 10 * MOST_OF[UNDERGRADUATE]
    + 18 * MOST_OF[GRADUATE]
    + 3 * sum(MOST_OF[GROUP:])
)
LONGEST_TEXT = (
    64  # without the university: "http://www.Department24./UndergraduateStudent587" and the like
)


class Texts(NamedTuple):
    """Text i is blob[starts[i] : stops[i]]; numbers that a department does not use have no text."""

    blob: Bytes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers
# ---------------------------------------------------------------------------------------------------------------------


@kernel
def _next(random: Random) -> np.uint64:
    """31 random bits: the upper ones of Java's 48-bit linear congruential generator."""
    x = (random[0] * np.uint64(0x5DEECE66D) + np.uint64(11)) & np.uint64(0xFFFFFFFFFFFF)
    random[0] = x
    return x >> np.uint64(17)


@kernel
def draw(random: Random, n: int) -> int:
    """A number below n ≥ 1: the upper bits for a power of two, else the remainder, drawn again where it would not be uniform."""
    bound = np.uint64(n)
    r = _next(random)
    if n & (n - 1) == 0:
        return np.int64((bound * r) >> np.uint64(31))
    v = r % bound
    while r - v + (bound - np.uint64(1)) >= np.uint64(1 << 31):
        r = _next(random)
        v = r % bound
    return np.int64(v)


@kernel
def _between(random: Random, least: int, most: int) -> int:
    """A number from least to most."""
    return least + draw(random, most - least + 1)


@kernel
def pick(random: Random, m: int, out: Numbers, taken: Numbers) -> None:
    """int64 out[:] = different numbers below m, in the order drawn: each time the p-th of those that are left."""
    for j in range(out.shape[0]):
        value = draw(random, m - j)
        at = 0
        while at < j and taken[at] <= value:  # those taken, in ascending order, are passed over
            value += 1
            at += 1
        for i in range(j, at, -1):
            taken[i] = taken[i - 1]
        taken[at] = value
        out[j] = value


# ---------------------------------------------------------------------------------------------------------------------
# A university as rows. A function takes the number of rows there are, and returns the number with its own.
# ---------------------------------------------------------------------------------------------------------------------


class Desk(NamedTuple):
    """What a department is made on: a desk to be cleared for the next one."""

    random: Random
    rows: Rows
    counts: Numbers  # by class: how many the department has
    owners: Numbers  # by publication: the author from the faculty
    coauthors: Numbers  # (n, 2): publication, graduate student, in the order of students
    picked: Numbers
    taken: Numbers


@kernel
def _emit(rows: Rows, n: int, subject: int, predicate: int, target: int) -> int:
    """One more row."""
    rows[n, 0], rows[n, 1], rows[n, 2] = subject, predicate, target
    return n + 1


@kernel
def _emit_typed(rows: Rows, n: int, subject: int, predicate: int, university: int) -> int:
    """A row that has a university as object, and the university's type."""
    n = _emit(rows, n, subject, predicate, university)
    return _emit(rows, n, university, TYPE, FIRST_CLASS + UNIVERSITY)


@kernel
def _emit_named(rows: Rows, n: int, subject: int, kind: int, number: int) -> int:
    """The type and the name of an individual."""
    n = _emit(rows, n, subject, TYPE, FIRST_CLASS + kind)
    return _emit(rows, n, subject, NAME, FIRST_NAME[kind] + number)


@kernel
def _draw_sizes(random: Random, counts: Numbers) -> tuple[int, int, int]:
    """How many people and groups the department has, into counts; teaching assistants, research assistants, and who is the chair."""
    counts[:] = 0
    faculty = 0
    for kind in range(FULL, LECTURER + 1):
        counts[kind] = _between(random, LEAST[kind], MOST[kind])
        faculty += counts[kind]
    counts[UNDERGRADUATE] = _between(random, 8 * faculty, 14 * faculty)
    counts[GRADUATE] = _between(random, 3 * faculty, 4 * faculty)
    graduates = counts[GRADUATE]
    teaching = _between(random, graduates // 5, graduates // 4)
    research = _between(random, graduates // 4, graduates // 3)
    counts[GROUP] = _between(random, 10, 20)
    return teaching, research, draw(random, counts[FULL])


@kernel
def _emit_teaching(desk: Desk, n: int, department: int, teacher: int, kind: int) -> int:
    """One or two courses, the next ones that nobody teaches yet; the benchmark draws which, and does not look at it."""
    for _ in range(_between(desk.random, 1, 2)):
        draw(desk.random, COURSE_POOL - desk.counts[kind])
        n = _emit(desk.rows, n, teacher, TEACHES, department + FIRST_OF[kind] + desk.counts[kind])
        desk.counts[kind] += 1
    return n


@kernel
def _emit_faculty(
    desk: Desk, n: int, department: int, kind: int, number: int, is_chair: bool
) -> int:
    """A member of the faculty; the publications are noted for later."""
    random, rows, counts = desk.random, desk.rows, desk.counts
    a = department + FIRST_OF[kind] + number
    n = _emit_named(rows, n, a, kind, number)
    n = _emit_teaching(desk, n, department, a, COURSE)
    n = _emit_teaching(desk, n, department, a, HIGHER_COURSE)
    for degree in range(BACHELOR, DOCTOR + 1):
        n = _emit_typed(rows, n, a, degree, FIRST_UNIVERSITY + draw(random, POOL))
    n = _emit(rows, n, a, WORKS, department)
    n = _emit(rows, n, a, MAIL, a + TO_MAIL)
    n = _emit(rows, n, a, TELEPHONE, NUMBER)
    if kind != LECTURER:
        n = _emit(rows, n, a, INTEREST, FIRST_INTEREST + draw(random, INTERESTS))
    if is_chair:
        n = _emit(rows, n, a, HEAD, department)
    written = _between(random, LEAST_WRITTEN[kind], MOST_WRITTEN[kind])
    for j in range(counts[PUBLICATION], counts[PUBLICATION] + written):
        desk.owners[j] = a
    counts[PUBLICATION] += written
    return n


@kernel
def _emit_student(desk: Desk, n: int, department: int, kind: int, number: int, courses: int) -> int:
    """What students of both kinds have: `courses` different ones of those that are taught to their kind."""
    rows, course_kind = desk.rows, COURSE if kind == UNDERGRADUATE else HIGHER_COURSE
    a = department + FIRST_OF[kind] + number
    n = _emit_named(rows, n, a, kind, number)
    n = _emit(rows, n, a, MEMBER, department)
    n = _emit(rows, n, a, MAIL, a + TO_MAIL)
    n = _emit(rows, n, a, TELEPHONE, NUMBER)
    pick(desk.random, desk.counts[course_kind], desk.picked[:courses], desk.taken)
    for j in range(courses):
        n = _emit(rows, n, a, TAKES, department + FIRST_OF[course_kind] + desk.picked[j])
    return n


@kernel
def _emit_advisor(desk: Desk, n: int, department: int, student: int) -> int:
    """A professor: first of which kind, then who."""
    kind = draw(desk.random, 3)
    return _emit(
        desk.rows,
        n,
        student,
        ADVISOR,
        department + FIRST_OF[kind] + draw(desk.random, desk.counts[kind]),
    )


@kernel
def _emit_people(desk: Desk, n: int, department: int, chair: int) -> tuple[int, int]:
    """Faculty and students: the rows, and how many times a graduate student is an author."""
    random, counts = desk.random, desk.counts
    for kind in range(FULL, LECTURER + 1):
        for i in range(counts[kind]):
            n = _emit_faculty(desk, n, department, kind, i, kind == FULL and i == chair)
    for i in range(counts[UNDERGRADUATE]):
        n = _emit_student(desk, n, department, UNDERGRADUATE, i, _between(random, 2, 4))
        if draw(random, 5) == 0:
            n = _emit_advisor(desk, n, department, department + FIRST_OF[UNDERGRADUATE] + i)
    times = 0
    for i in range(counts[GRADUATE]):
        a = department + FIRST_OF[GRADUATE] + i
        n = _emit_student(desk, n, department, GRADUATE, i, _between(random, 1, 3))
        n = _emit_typed(desk.rows, n, a, BACHELOR, FIRST_UNIVERSITY + draw(random, POOL))
        draw(random, 1)  # whether there is an advisor: always
        n = _emit_advisor(desk, n, department, a)
        papers = _between(random, 0, 5)
        pick(random, counts[PUBLICATION], desk.picked[:papers], desk.taken)
        for j in range(papers):
            desk.coauthors[times, 0], desk.coauthors[times, 1] = desk.picked[j], a
            times += 1
    return n, times


@kernel
def _emit_publications(desk: Desk, n: int, department: int, times: int) -> int:
    """All publications, the authors from the faculty before the students; these by publication: a counting sort."""
    rows, count = desk.rows, desk.counts[PUBLICATION]
    ends = np.zeros(count + 1, np.int64)
    for t in range(times):
        ends[desk.coauthors[t, 0] + 1] += 1
    for k in range(count):
        ends[k + 1] += ends[k]
    students = np.empty(times, np.int64)
    for t in range(times):
        k = desk.coauthors[t, 0]
        students[ends[k]] = desk.coauthors[t, 1]
        ends[k] += 1
    begin = number = 0
    for k in range(count):
        number = number + 1 if k > 0 and desk.owners[k] == desk.owners[k - 1] else 0
        publication = department + FIRST_OF[PUBLICATION] + k
        n = _emit_named(rows, n, publication, PUBLICATION, number)
        n = _emit(rows, n, publication, AUTHOR, desk.owners[k])
        for t in range(begin, ends[k]):
            n = _emit(rows, n, publication, AUTHOR, students[t])
        begin = ends[k]
    return n


@kernel
def _emit_assistants(desk: Desk, n: int, department: int, teaching: int, research: int) -> int:
    """Graduate students who assist: in a course of their own, or in research."""
    rows, courses = desk.rows, np.empty(teaching, np.int64)
    students = desk.picked[: teaching + research]
    pick(desk.random, desk.counts[GRADUATE], students, desk.taken)
    pick(desk.random, desk.counts[COURSE], courses, desk.taken)
    first = department + FIRST_OF[GRADUATE]
    for t in range(teaching):
        n = _emit(rows, n, first + students[t], TYPE, FIRST_CLASS + TEACHING)
        n = _emit(rows, n, first + students[t], ASSISTS, department + FIRST_OF[COURSE] + courses[t])
    for t in range(teaching, teaching + research):
        n = _emit(rows, n, first + students[t], TYPE, FIRST_CLASS + RESEARCH)
    return n


@kernel
def emit_department(desk: Desk, n: int, number: int, university: int) -> int:
    """Rows of the next department, in the benchmark's order of draws and lines."""
    rows, counts = desk.rows, desk.counts
    department = FIRST_DEPARTMENT + number * STRIDE
    teaching, research, chair = _draw_sizes(desk.random, counts)
    n = _emit_named(rows, n, department, DEPARTMENT, number)
    n = _emit_typed(rows, n, department, PART, university)
    n, times = _emit_people(desk, n, department, chair)
    for i in range(counts[GROUP]):
        group = department + FIRST_OF[GROUP] + i
        n = _emit(rows, n, group, TYPE, FIRST_CLASS + GROUP)
        n = _emit(rows, n, group, PART, department)
    n = _emit_publications(desk, n, department, times)
    for kind in range(COURSE, HIGHER_COURSE + 1):
        for i in range(counts[kind]):
            n = _emit_named(rows, n, department + FIRST_OF[kind] + i, kind, i)
    return _emit_assistants(desk, n, department, teaching, research)


@kernel
def emit_university(desk: Desk, university: int, texts: Texts, end: int) -> int:
    """All rows of a university, and its texts, behind blob[:end]; the number of rows."""
    n = _emit(desk.rows, 0, university, TYPE, FIRST_CLASS + UNIVERSITY)
    n = _emit(desk.rows, n, university, NAME, OWN_NAME)
    for number in range(_between(desk.random, LEAST_DEPARTMENTS, MOST_DEPARTMENTS)):
        n = emit_department(desk, n, number, university)
        end = _name_department(texts, end, number, university, desk.counts, desk.owners)
    return n


# ---------------------------------------------------------------------------------------------------------------------
# Texts
# ---------------------------------------------------------------------------------------------------------------------

_QUOTE, _SLASH, _DOT, _AT, _GREATER, _SPACE, _NEWLINE = b'"/.@> \n'
_BEFORE_HOST = len("<http://www.")


@kernel
def _copy(source: Bytes, start: int, stop: int, out: Bytes, at: int) -> int:
    """out[at:] = source[start:stop]; the position behind it. Unsigned positions, so that it becomes vector instructions."""
    x, y = np.uintp(start), np.uintp(at)
    for k in range(stop - start):
        out[y + np.uintp(k)] = source[x + np.uintp(k)]
    return at + stop - start


@kernel
def _name_child(texts: Texts, end: int, new: int, parent: int, name: int) -> int:
    """Text `new` is the parent's IRI, a slash, and what is in quotes in `name`."""
    blob, starts, stops = texts.blob, texts.starts, texts.stops
    starts[new] = end
    end = _copy(blob, starts[parent], stops[parent] - 2, blob, end)
    blob[end] = _SLASH
    end = _copy(blob, starts[name] + 1, stops[name] - 2, blob, end + 1)
    blob[end], blob[end + 1] = _GREATER, _SPACE
    stops[new] = end + 2
    return end + 2


@kernel
def _name_mail(texts: Texts, end: int, new: int, department: int, name: int) -> int:
    """Text `new` is a person's e-mail address: the name in quotes, at the department's host."""
    blob, starts, stops = texts.blob, texts.starts, texts.stops
    starts[new] = end
    end = _copy(blob, starts[name], stops[name] - 2, blob, end)
    blob[end] = _AT
    end = _copy(blob, starts[department] + _BEFORE_HOST, stops[department] - 2, blob, end + 1)
    blob[end], blob[end + 1] = _QUOTE, _SPACE
    stops[new] = end + 2
    return end + 2


@kernel
def _name_department(
    texts: Texts, end: int, number: int, university: int, counts: Numbers, owners: Numbers
) -> int:
    """Texts of the department and of all that is in it, behind blob[:end]; the end with them."""
    blob, starts, stops = texts.blob, texts.starts, texts.stops
    department, name = FIRST_DEPARTMENT + number * STRIDE, FIRST_NAME[DEPARTMENT] + number
    starts[department] = end
    end = _copy(blob, starts[university], starts[university] + _BEFORE_HOST, blob, end)
    end = _copy(blob, starts[name] + 1, stops[name] - 2, blob, end)
    blob[end] = _DOT
    end = _copy(blob, starts[university] + _BEFORE_HOST, stops[university], blob, end + 1)
    stops[department] = end
    for kind in range(PUBLICATION):
        for i in range(counts[kind]):
            end = _name_child(
                texts, end, department + FIRST_OF[kind] + i, department, FIRST_NAME[kind] + i
            )
            if kind < GROUP:
                end = _name_mail(
                    texts,
                    end,
                    department + FIRST_OF[kind] + i + TO_MAIL,
                    department,
                    FIRST_NAME[kind] + i,
                )
    j = 0
    for k in range(counts[PUBLICATION]):
        j = j + 1 if k > 0 and owners[k] == owners[k - 1] else 0
        end = _name_child(
            texts,
            end,
            department + FIRST_OF[PUBLICATION] + k,
            owners[k],
            FIRST_NAME[PUBLICATION] + j,
        )
    return end


# ---------------------------------------------------------------------------------------------------------------------
# Rows → lines, or a batch
# ---------------------------------------------------------------------------------------------------------------------


@kernel
def drop_literals(rows: Rows) -> int:
    """Moves the rows that have no literal to the front; their number."""
    kept = 0
    for i in range(rows.shape[0]):
        if rows[i, 1] >= FIRST_LINK:
            kept = _emit(rows, kept, rows[i, 0], rows[i, 1], rows[i, 2])
    return kept


@kernel
def text_size(rows: Rows, texts: Texts) -> int:
    """Bytes of all lines."""
    size = 2 * rows.shape[0]
    for i in range(rows.shape[0]):
        for c in range(3):
            size += texts.stops[rows[i, c]] - texts.starts[rows[i, c]]
    return size


@kernel
def write_lines(rows: Rows, texts: Texts, out: Bytes) -> None:
    """int32 (n, 3) rows → uint8 out: three texts, a full stop and a line feed for each."""
    blob, starts, stops = texts.blob, texts.starts, texts.stops
    at = 0
    for i in range(rows.shape[0]):
        for c in range(3):
            at = _copy(blob, starts[rows[i, c]], stops[rows[i, c]], out, at)
        out[at], out[at + 1] = _DOT, _NEWLINE
        at += 2


@kernel
def _hash(text: Bytes, start: int, stop: int, seed: np.uint64) -> np.uint64:
    """The finished hash of text[start:stop], as the reader's `mix(hash_bytes(...))`; also the reader's key of a plain literal."""
    z = np.uint64(seed)
    for i in range(start, stop):
        z = (z ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def _local_id(number: int, ids: Rows, order: Rows, size: Numbers) -> int:
    """The id of a text in order of first appearance; size[0] counts them."""
    if ids[number] < 0:
        ids[number] = size[0]
        order[size[0]] = number
        size[0] += 1
    return ids[number]


@kernel
def fill_rows(rows: Rows, texts: Texts, seed: np.uint64, order: Rows, batch: Batch) -> None:
    """int32 (n, 3) rows → statements of the batch over local ids; order[i] = the text that has the local id i."""
    triples, literals, keys, size = (
        batch.triples,
        batch.literals,
        batch.literal_keys,
        batch.terms.size,
    )
    ids = np.full(order.shape[0], -1, np.int32)
    key_of = np.zeros(
        order.shape[0], np.uint64
    )  # a literal is hashed once: most names occur in every department
    links = texted = 0
    for i in range(rows.shape[0]):
        s = _local_id(rows[i, 0], ids, order, size)
        p = _local_id(rows[i, 1], ids, order, size)
        o = rows[i, 2]
        if rows[i, 1] >= FIRST_LINK:
            links = _emit(triples, links, s, p, _local_id(o, ids, order, size))
            continue
        if key_of[o] == 0:
            key_of[o] = _hash(texts.blob, texts.starts[o] + 1, texts.stops[o] - 2, seed)
        literals[texted, 0], literals[texted, 1], keys[texted] = s, p, key_of[o]
        texted += 1
    batch.state[LINES], batch.state[TRIPLES], batch.state[LITERALS] = rows.shape[0], links, texted


@kernel
def fill_terms(order: Rows, texts: Texts, seed: np.uint64, terms: Dictionary) -> None:
    """Texts in order of their local ids → the dictionary: IRIs without brackets, a line feed behind each, and their hashes."""
    end = 0
    for i in range(terms.size[0]):
        start, stop = texts.starts[order[i]] + 1, texts.stops[order[i]] - 2
        terms.hashes[i] = _hash(texts.blob, start, stop, seed)
        end = _copy(texts.blob, start, stop, terms.blob, end)
        terms.blob[end] = _NEWLINE
        end += 1
        terms.offsets[i + 1] = end
    terms.size[1] = end
