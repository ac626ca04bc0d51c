"""Quantities of the benchmark, and the number of each text.

A text is a piece of a line, with its delimiters and a space: `<http://www.University0.edu> ` or
`"Course7" `. Every text has a number. Texts that all universities share come first, then those of
the university itself, then a range of equal length for each department.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def _constants(count: int) -> Any:
    """0, 1, 2, … as NumPy integers: Numba compiles a kernel for each Python integer."""
    return np.arange(count)


# The first four predicates have literals as objects.
PREDICATES = (
    "name", "emailAddress", "telephone", "researchInterest", "rdf:type", "takesCourse",
    "teacherOf", "undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom", "advisor",
    "memberOf", "publicationAuthor", "headOf", "teachingAssistantOf", "subOrganizationOf",
    "worksFor",
)  # fmt: skip
(
    NAME, EMAIL, TELEPHONE, INTEREST, TYPE, TAKES_COURSE,
    TEACHES, BACHELOR_FROM, MASTER_FROM, DOCTOR_FROM, ADVISOR,
    MEMBER_OF, AUTHOR, HEAD_OF, ASSISTANT_OF, PART_OF,
    WORKS_FOR,
) = _constants(17)  # fmt: skip
FIRST_LINK = TYPE  # predicates before this one have literals as objects

# The first six classes are people.
CLASSES = (
    "FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer",
    "UndergraduateStudent", "GraduateStudent", "ResearchGroup", "Course", "GraduateCourse",
    "Publication", "Department", "University", "TeachingAssistant", "ResearchAssistant",
)  # fmt: skip
(
    FULL_PROFESSOR, _, _, LECTURER,
    UNDERGRADUATE, GRADUATE, GROUP, COURSE, GRADUATE_COURSE,
    PUBLICATION, DEPARTMENT, UNIVERSITY, TEACHING_ASSISTANT, RESEARCH_ASSISTANT,
) = _constants(14)  # fmt: skip

MIN_DEPARTMENTS, MAX_DEPARTMENTS = 15, 25
# By class of faculty member: how many a department has, and how many publications each writes.
MIN_FACULTY = np.array([7, 10, 8, 5], np.int64)
MAX_FACULTY = np.array([10, 14, 11, 7], np.int64)
MIN_WRITTEN = np.array([15, 10, 5, 0], np.int64)
MAX_WRITTEN = np.array([20, 18, 10, 5], np.int64)
DEGREE_UNIVERSITIES = 1000  # degrees come from these
INTERESTS = 30
COURSE_POOL = 100

_FACULTY = int(MAX_FACULTY.sum())
# Maximum number of individuals in a department, by class up to publications.
MAX_INDIVIDUALS = (
    *map(int, MAX_FACULTY),
    14 * _FACULTY,
    4 * _FACULTY,
    20,
    2 * _FACULTY,
    2 * _FACULTY,
    int((MAX_FACULTY * MAX_WRITTEN).sum()),
)
# Maximum number of different names, by class. Publications are numbered per author.
MAX_NAMES = (*MAX_INDIVIDUALS[:PUBLICATION], int(MAX_WRITTEN.max()), MAX_DEPARTMENTS)


def _starts(first: int, sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Starts of ranges of these sizes, and the end of the last one."""
    return np.cumsum([first, *sizes])


# Texts that all universities share.
FIRST_CLASS = len(PREDICATES)
FIRST_UNIVERSITY = FIRST_CLASS + len(CLASSES)
FIRST_INTEREST = FIRST_UNIVERSITY + DEGREE_UNIVERSITIES
PHONE_NUMBER = FIRST_INTEREST + INTERESTS  # all people have the same one
FIRST_NAME = _starts(PHONE_NUMBER + 1, MAX_NAMES)  # by class
# Texts of the university itself. Only universities that grant no degrees use OWN_IRI.
OWN_IRI = int(FIRST_NAME[-1])
OWN_NAME = OWN_IRI + 1
FIRST_DEPARTMENT = OWN_NAME + 1
# Texts of a department: its IRI, its individuals by class, an e-mail address for each person.
FIRST_OF = _starts(1, MAX_INDIVIDUALS)
EMAIL_OFFSET = int(FIRST_OF[-1] - FIRST_OF[FULL_PROFESSOR])  # from a person to the address
DEPARTMENT_TEXTS = int(FIRST_OF[-1] + FIRST_OF[GROUP] - FIRST_OF[FULL_PROFESSOR])
TEXTS = FIRST_DEPARTMENT + MAX_DEPARTMENTS * DEPARTMENT_TEXTS

# Maximum number of lines of a department. A faculty member has at most 17 lines, a graduate
# student 18, which include the lines as an author of five publications.
MAX_LINES = (
    6
    + 17 * _FACULTY
    + 10 * MAX_INDIVIDUALS[UNDERGRADUATE]
    + 18 * MAX_INDIVIDUALS[GRADUATE]
    + 3 * sum(MAX_INDIVIDUALS[GROUP:])
)
MAX_TEXT_BYTES = 64  # like <http://www.Department24./UndergraduateStudent587>, no university
