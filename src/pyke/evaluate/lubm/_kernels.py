"""Kernels that draw a university at random and emit its lines, in the order of the benchmark.

A row has three text numbers: subject, predicate, object. A function that emits rows takes the
number of existing rows and returns the new number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import kernel
from pyke.evaluate.lubm._tables import (
    ADVISOR,
    ASSISTANT_OF,
    AUTHOR,
    BACHELOR_FROM,
    COURSE,
    COURSE_POOL,
    DEGREE_UNIVERSITIES,
    DEPARTMENT,
    DEPARTMENT_TEXTS,
    DOCTOR_FROM,
    EMAIL,
    EMAIL_OFFSET,
    FIRST_CLASS,
    FIRST_DEPARTMENT,
    FIRST_INTEREST,
    FIRST_LINK,
    FIRST_NAME,
    FIRST_OF,
    FIRST_UNIVERSITY,
    FULL_PROFESSOR,
    GRADUATE,
    GRADUATE_COURSE,
    GROUP,
    HEAD_OF,
    INTEREST,
    INTERESTS,
    LECTURER,
    MAX_DEPARTMENTS,
    MAX_FACULTY,
    MAX_WRITTEN,
    MEMBER_OF,
    MIN_DEPARTMENTS,
    MIN_FACULTY,
    MIN_WRITTEN,
    NAME,
    OWN_NAME,
    PART_OF,
    PHONE_NUMBER,
    PUBLICATION,
    RESEARCH_ASSISTANT,
    TAKES_COURSE,
    TEACHES,
    TEACHING_ASSISTANT,
    TELEPHONE,
    TYPE,
    UNDERGRADUATE,
    UNIVERSITY,
    WORKS_FOR,
)
from pyke.evaluate.lubm._text import Numbers, Rows, Texts, add_department

Random = NDArray[np.uint64]  # (1,): the state of the generator


@kernel
def _next(random: Random) -> np.uint64:
    """31 random bits: the upper bits of Java's 48-bit linear congruential generator."""
    x = (random[0] * np.uint64(0x5DEECE66D) + np.uint64(11)) & np.uint64(0xFFFFFFFFFFFF)
    random[0] = x
    return x >> np.uint64(17)


@kernel
def draw(random: Random, n: int) -> int:
    """Draw a number below n ≥ 1, as Java does."""
    # A power of two takes the upper bits. Other bounds take the remainder, and draw again where
    # remainders would not be uniform.
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
def _between(random: Random, low: int, high: int) -> int:
    """Draw a number from low to high."""
    return low + draw(random, high - low + 1)


@kernel
def pick(random: Random, m: int, out: Numbers, taken: Numbers) -> None:
    """int64 out[:] = different numbers below m, in the order drawn."""
    for j in range(out.shape[0]):
        value = draw(random, m - j)  # position among the numbers that are not taken yet
        at = 0
        while at < j and taken[at] <= value:  # taken is ascending; skip its numbers
            value += 1
            at += 1
        for i in range(j, at, -1):
            taken[i] = taken[i - 1]
        taken[at] = value
        out[j] = value


class Workspace(NamedTuple):
    """Arrays that are filled for one department, and reused for the next."""

    random: Random
    rows: Rows
    counts: Numbers  # by class: number of individuals in the department
    owners: Numbers  # by publication: the faculty member who wrote it
    coauthors: Numbers  # (n, 2): publication, graduate student; in the order of students
    picked: Numbers  # result of `pick`
    taken: Numbers  # scratch space of `pick`


@kernel
def _emit(rows: Rows, n: int, subject: int, predicate: int, target: int) -> int:
    """Add a row."""
    rows[n, 0], rows[n, 1], rows[n, 2] = subject, predicate, target
    return n + 1


@kernel
def _emit_typed(rows: Rows, n: int, subject: int, predicate: int, university: int) -> int:
    """Add a row with a university as object, and the type of the university."""
    n = _emit(rows, n, subject, predicate, university)
    return _emit(rows, n, university, TYPE, FIRST_CLASS + UNIVERSITY)


@kernel
def _emit_named(rows: Rows, n: int, subject: int, kind: int, number: int) -> int:
    """Add the type and the name of an individual."""
    n = _emit(rows, n, subject, TYPE, FIRST_CLASS + kind)
    return _emit(rows, n, subject, NAME, FIRST_NAME[kind] + number)


@kernel
def _draw_sizes(random: Random, counts: Numbers) -> tuple[int, int, int]:
    """Draw the sizes of a department.

    Fills `counts` for people and groups. Returns the number of teaching assistants, the number
    of research assistants, and the position of the chair among the full professors.
    """
    counts[:] = 0
    faculty = 0
    for kind in range(FULL_PROFESSOR, LECTURER + 1):
        counts[kind] = _between(random, MIN_FACULTY[kind], MAX_FACULTY[kind])
        faculty += counts[kind]
    counts[UNDERGRADUATE] = _between(random, 8 * faculty, 14 * faculty)
    counts[GRADUATE] = _between(random, 3 * faculty, 4 * faculty)
    graduates = counts[GRADUATE]
    teaching = _between(random, graduates // 5, graduates // 4)
    research = _between(random, graduates // 4, graduates // 3)
    counts[GROUP] = _between(random, 10, 20)
    return teaching, research, draw(random, counts[FULL_PROFESSOR])


@kernel
def _emit_teaching(work: Workspace, n: int, department: int, teacher: int, kind: int) -> int:
    """Add one or two courses that a faculty member teaches: the next ones without a teacher."""
    for _ in range(_between(work.random, 1, 2)):
        draw(work.random, COURSE_POOL - work.counts[kind])  # the benchmark ignores this number
        n = _emit(work.rows, n, teacher, TEACHES, department + FIRST_OF[kind] + work.counts[kind])
        work.counts[kind] += 1
    return n


@kernel
def _emit_faculty(
    work: Workspace, n: int, department: int, kind: int, number: int, is_chair: bool
) -> int:
    """Add a faculty member. The rows of the publications follow later."""
    random, rows, counts = work.random, work.rows, work.counts
    a = department + FIRST_OF[kind] + number
    n = _emit_named(rows, n, a, kind, number)
    n = _emit_teaching(work, n, department, a, COURSE)
    n = _emit_teaching(work, n, department, a, GRADUATE_COURSE)
    for degree in range(BACHELOR_FROM, DOCTOR_FROM + 1):
        n = _emit_typed(rows, n, a, degree, FIRST_UNIVERSITY + draw(random, DEGREE_UNIVERSITIES))
    n = _emit(rows, n, a, WORKS_FOR, department)
    n = _emit(rows, n, a, EMAIL, a + EMAIL_OFFSET)
    n = _emit(rows, n, a, TELEPHONE, PHONE_NUMBER)
    if kind != LECTURER:
        n = _emit(rows, n, a, INTEREST, FIRST_INTEREST + draw(random, INTERESTS))
    if is_chair:
        n = _emit(rows, n, a, HEAD_OF, department)
    written = _between(random, MIN_WRITTEN[kind], MAX_WRITTEN[kind])
    for j in range(counts[PUBLICATION], counts[PUBLICATION] + written):
        work.owners[j] = a
    counts[PUBLICATION] += written
    return n


@kernel
def _emit_student(
    work: Workspace, n: int, department: int, kind: int, number: int, courses: int
) -> int:
    """Add the rows that undergraduates and graduates share, with this number of courses."""
    rows, course_kind = work.rows, COURSE if kind == UNDERGRADUATE else GRADUATE_COURSE
    a = department + FIRST_OF[kind] + number
    n = _emit_named(rows, n, a, kind, number)
    n = _emit(rows, n, a, MEMBER_OF, department)
    n = _emit(rows, n, a, EMAIL, a + EMAIL_OFFSET)
    n = _emit(rows, n, a, TELEPHONE, PHONE_NUMBER)
    pick(work.random, work.counts[course_kind], work.picked[:courses], work.taken)
    for j in range(courses):
        n = _emit(rows, n, a, TAKES_COURSE, department + FIRST_OF[course_kind] + work.picked[j])
    return n


@kernel
def _emit_advisor(work: Workspace, n: int, department: int, student: int) -> int:
    """Add the advisor of a student: a professor of a random class."""
    kind = draw(work.random, 3)
    advisor = department + FIRST_OF[kind] + draw(work.random, work.counts[kind])
    return _emit(work.rows, n, student, ADVISOR, advisor)


@kernel
def _emit_people(work: Workspace, n: int, department: int, chair: int) -> tuple[int, int]:
    """Add faculty and students. Returns the number of rows, and of entries in `coauthors`."""
    random, counts = work.random, work.counts
    for kind in range(FULL_PROFESSOR, LECTURER + 1):
        for i in range(counts[kind]):
            n = _emit_faculty(work, n, department, kind, i, kind == FULL_PROFESSOR and i == chair)
    for i in range(counts[UNDERGRADUATE]):
        n = _emit_student(work, n, department, UNDERGRADUATE, i, _between(random, 2, 4))
        if draw(random, 5) == 0:
            n = _emit_advisor(work, n, department, department + FIRST_OF[UNDERGRADUATE] + i)
    times = 0
    for i in range(counts[GRADUATE]):
        a = department + FIRST_OF[GRADUATE] + i
        n = _emit_student(work, n, department, GRADUATE, i, _between(random, 1, 3))
        university = FIRST_UNIVERSITY + draw(random, DEGREE_UNIVERSITIES)
        n = _emit_typed(work.rows, n, a, BACHELOR_FROM, university)
        draw(random, 1)  # the benchmark draws whether there is an advisor: there always is
        n = _emit_advisor(work, n, department, a)
        papers = _between(random, 0, 5)
        pick(random, counts[PUBLICATION], work.picked[:papers], work.taken)
        for j in range(papers):
            work.coauthors[times, 0], work.coauthors[times, 1] = work.picked[j], a
            times += 1
    return n, times


@kernel
def _emit_publications(work: Workspace, n: int, department: int, times: int) -> int:
    """Add the publications. The author from the faculty comes first, then the students."""
    rows, count = work.rows, work.counts[PUBLICATION]
    # A counting sort of the students by publication.
    ends = np.zeros(count + 1, np.int64)
    for t in range(times):
        ends[work.coauthors[t, 0] + 1] += 1
    for k in range(count):
        ends[k + 1] += ends[k]
    students = np.empty(times, np.int64)
    for t in range(times):
        k = work.coauthors[t, 0]
        students[ends[k]] = work.coauthors[t, 1]
        ends[k] += 1
    begin = number = 0
    for k in range(count):
        number = number + 1 if k > 0 and work.owners[k] == work.owners[k - 1] else 0
        publication = department + FIRST_OF[PUBLICATION] + k
        n = _emit_named(rows, n, publication, PUBLICATION, number)
        n = _emit(rows, n, publication, AUTHOR, work.owners[k])
        for t in range(begin, ends[k]):
            n = _emit(rows, n, publication, AUTHOR, students[t])
        begin = ends[k]
    return n


@kernel
def _emit_assistants(work: Workspace, n: int, department: int, teaching: int, research: int) -> int:
    """Add the teaching assistants, each of one course, and the research assistants."""
    rows, courses = work.rows, np.empty(teaching, np.int64)
    students = work.picked[: teaching + research]
    pick(work.random, work.counts[GRADUATE], students, work.taken)
    pick(work.random, work.counts[COURSE], courses, work.taken)
    first = department + FIRST_OF[GRADUATE]
    for t in range(teaching):
        n = _emit(rows, n, first + students[t], TYPE, FIRST_CLASS + TEACHING_ASSISTANT)
        course = department + FIRST_OF[COURSE] + courses[t]
        n = _emit(rows, n, first + students[t], ASSISTANT_OF, course)
    for t in range(teaching, teaching + research):
        n = _emit(rows, n, first + students[t], TYPE, FIRST_CLASS + RESEARCH_ASSISTANT)
    return n


@kernel
def emit_department(work: Workspace, n: int, number: int, university: int) -> int:
    """Add the rows of a department, in the benchmark's order of draws and lines."""
    rows, counts = work.rows, work.counts
    department = FIRST_DEPARTMENT + number * DEPARTMENT_TEXTS
    teaching, research, chair = _draw_sizes(work.random, counts)
    n = _emit_named(rows, n, department, DEPARTMENT, number)
    n = _emit_typed(rows, n, department, PART_OF, university)
    n, times = _emit_people(work, n, department, chair)
    for i in range(counts[GROUP]):
        group = department + FIRST_OF[GROUP] + i
        n = _emit(rows, n, group, TYPE, FIRST_CLASS + GROUP)
        n = _emit(rows, n, group, PART_OF, department)
    n = _emit_publications(work, n, department, times)
    for kind in range(COURSE, GRADUATE_COURSE + 1):
        for i in range(counts[kind]):
            n = _emit_named(rows, n, department + FIRST_OF[kind] + i, kind, i)
    return _emit_assistants(work, n, department, teaching, research)


@kernel
def emit_university(work: Workspace, university: int, texts: Texts, end: int) -> int:
    """Add all rows of a university, and its texts at blob[end:]. Returns the number of rows."""
    n = _emit(work.rows, 0, university, TYPE, FIRST_CLASS + UNIVERSITY)
    n = _emit(work.rows, n, university, NAME, OWN_NAME)
    for number in range(_between(work.random, MIN_DEPARTMENTS, MAX_DEPARTMENTS)):
        n = emit_department(work, n, number, university)
        end = add_department(texts, end, number, university, work.counts, work.owners)
    return n


@kernel
def drop_literals(rows: Rows) -> int:
    """Move the rows without literals to the front. Returns their number."""
    kept = 0
    for i in range(rows.shape[0]):
        if rows[i, 1] >= FIRST_LINK:
            kept = _emit(rows, kept, rows[i, 0], rows[i, 1], rows[i, 2])
    return kept
