"""Output of the benchmark's own generator: hashes, counts, and states of its random numbers."""

from __future__ import annotations

from pyke.evaluate.lubm import Universities

# SHA-256 of lines with their newlines. H1: as generated, with the header; H2: without the header;
# H3: without the header and without literals. Sorted by bytes and without duplicates:
# H4 like H1, H5 like H2, H6 with the header and without literals, H7 like H3.
HASHES = {
    Universities(1): {
        "H1": "7c1af3e674b92f45abe2710b4403cc360c67e0c6236b8a368ed09461d09cf4c6",
        "H2": "c36294ca05933f639b6ebb603a8955a970a3f0a5a1e2c43922cd662241e16c02",
        "H3": "28cffc28851f078d50d60c917b704f1c23070a3c8a8e4aee04395c7bd2293912",
        "H4": "5d37d2cd0511aeeb05720effe261c8a164208d6343809688a77e930f8807a165",
        "H5": "d28d8017c82ff50164650690e2e1a600bd7cf07e223bf43b91f666e8545ae0bd",
        "H6": "6937f6da8cc37ebe99d03b945919099f2f33294d15233c19460b069d948daf19",
        "H7": "c9bfb85ef86a6c377eb54e9502e247cfe14ca60d695eb16891a1b63cd4e9c378",
    },
    Universities(3): {
        "H1": "fc87415d0ea0f96d891d1ad9f645d054bbc315471fd02c88478d971ad2837f81",
        "H2": "e365b1223f0bcaaae3dcf9318c5422af48a7af727dac74e90b90ee0c326f4a86",
        "H3": "8d6d910566001b533affd9ab59e0dfdb92c25c283d2e7f23910424bece086978",
        "H4": "f7361a0b6ae97c43cae1a068b82e667e988b870c83558850381311638dbb5eae",
        "H5": "bc92df590d38adb7bec97d418b083226987c72273fd419d79f0e0798a9641958",
        "H6": "0ce9e4928f09fdf34ceade74004c7107e46d33f34400ae71700a312e3a3bf0d6",
        "H7": "183ee167b7ac7f32ab6e28e66720eb7f701dd2ac0b1e7f491bb45b85037b106b",
    },
    Universities(5): {
        "H1": "771412a4f8a0fd8368639f314e196e7548f520f6da66d27718e8ad049890b7c9",
        "H2": "414e48f00ddc569ce53ee85596c27609973aded244c3b48f6732294e8b56282d",
        "H3": "0aeb684f5df47c5ec23d460cc87638ccfcb8d316b43a6c231ad2deda31d7a2e2",
        "H4": "6cdb9fb7e02970d8f01a01312489c33d0b2799091b26f0031f344bfa1af8be2a",
        "H5": "5b9f8ac02f6c671cfce3d9326573464c6e1660bde2aabf08c53d5a6211b86b84",
        "H6": "ffc6ead46b7a7e62ee0f0caa6b9acc1bd31b4ecfd5641c1aee1591b869ffd7b5",
        "H7": "696f92a5f84117f3538c819ae999df388021c19a5a76ed907e0e700a44f9b9d4",
    },
    Universities(10): {
        "H1": "097258ca97dda7356c4a69c209e2c68353971a47b7eb03921298b69ebc3bb486",
        "H2": "f1a9852cdbd04659febf3c2ddcb0df52eb4579ca038d7b97000000cc8892685d",
        "H3": "e2da901b199bf248dcd9865556aca35b4222a4b48f3be5ab3a87f49512a16e3b",
        "H4": "572faa279e2484cc535b2c01b9c9dbc5b77695e607e24f9b5db128c8b0dcd80e",
        "H5": "bf93121c3a9b8ba15eaab5f33190bcf9381c4dee6a16435d2dfd9268cd1a2e34",
        "H6": "ddfadb9c3300b5705f11fad4cc688b36e0ff3e7b086053b3e9e97e58e0730628",
        "H7": "34568c8b1986fa8fe47b80b06b94d90f42f7312dac0588f3f971dde14086eae7",
    },
    Universities(1, seed=7): {
        "H1": "184ba9e7d9aa597ccc976d685e7c300718af4dbe99bb5f0e5ffc325c21ddce86",
        "H2": "5abeee8a46840663165541ff24dcbfb39076668c4a733cd6bddaa5d75304f338",
        "H3": "f83edeba507b903ac1f9da19e1e94bfd81537fd875b71818065221da596bde7c",
        "H4": "45402b3d086517305eb36e77d11f2e16f96a8ca7767714cd0680a69c34e4028b",
        "H5": "dcc4274dac5829e4625aa34d564d8b0946be1c15cfb5f72be4fef014b7ca488f",
        "H6": "2de2553b8da0b3bb50ded3be17e1d906597c02c14678c6bc6d6083d0b7bf0040",
        "H7": "d9b3dbe60148a9e8b70ddf14c02dd0df5ffb66684e2833b2110762c66256c299",
    },
    Universities(1, index=754): {
        "H1": "c5065b3f6e3abd41586a5607e549a9255ab1760ea9b84e4b9711f4a112f171d7",
        "H3": "47d69ee07194974a672d5d2b4625d21384ebbccbf7935e86b6d9939eb611065b",
        "H5": "e79c0f1695d21ae35b62ca9976cdd8f37d0ced08625639d1d0eb62a2ed321b2f",
    },
    Universities(2, seed=-5, index=40): {
        "H1": "cfb53bdc51afbdef17fbd410cd0631ab7250a1ba6b0489b7208eb251423b0e35",
        "H3": "122ff01277800ddc5dcaeb9b25108bfefcfc83d26fb27f5d7f2ba06b094efddd",
        "H5": "ea064e38240c8e65299a6ccb08378ac3d658e330ca8ad118ad3450c5a027b922",
    },
    Universities(1, seed=2147483647, index=3): {
        "H1": "f7ceb500b891bc306ed69e51bb9e0aa103f2753e6efcfa49b8a678c9685af9da",
        "H3": "8bd1f40b2bdbff638d764617101d2cc661fa0a3a760a8317f6b15dd083a3f26c",
        "H5": "598533272c246dda2255c75a66b667e096de41911710a55fd61d0b72fbaa09cc",
    },
}

# Number of header lines; of lines and distinct lines without the header; of lines with literals;
# of lines and distinct lines without literals; and of these terms (|V|), typed subjects (|S|) and
# classes (|C|).
TOTALS = {
    Universities(1): (2, 103_074, 100_543, 33_079, 69_995, 67_464, 17_201, 17_174, 14),
    Universities(3): (6, 348_006, 337_127, 111_548, 236_458, 225_579, 55_691, 55_664, 14),
    Universities(5): (10, 645_649, 624_532, 206_723, 438_926, 417_809, 102_395, 102_368, 14),
    Universities(10): (20, 1_316_322, 1_272_575, 422_142, 894_180, 850_433, 207_453, 207_426, 14),
    Universities(1, seed=7): (2, 141_679, 137_899, 45_490, 96_189, 92_409, 23_192, 23_165, 14),
    Universities(1, index=754): (2, 107_894, 105_233, 34_639, 73_255, 70_594, 17_955, 17_928, 14),
    Universities(2, seed=-5, index=40): (
        4,
        267_056,
        258_932,
        85_532,
        181_524,
        173_400,
        42_800,
        42_773,
        14,
    ),
    Universities(1, seed=2147483647, index=3): (
        2,
        131_875,
        128_428,
        42_312,
        89_563,
        86_116,
        21_694,
        21_667,
        14,
    ),
    Universities(100): (
        200,
        13_875_956,
        13_405_381,
        4_450_766,
        9_425_190,
        8_954_615,
        2_179_793,
        2_179_766,
        14,
    ),
}

# Columns of the next two tables.
DATA_SETS = (
    Universities(1),
    Universities(5),
    Universities(10),
    Universities(100),
    Universities(1, seed=7),
)

# Number of distinct rdf:type triples per class.
CLASSES_OF = {
    "University": (979, 1_000, 1_000, 1_000, 989),
    "Department": (15, 93, 189, 2_007, 20),
    "FullProfessor": (125, 794, 1_602, 17_144, 165),
    "AssociateProfessor": (176, 1_110, 2_291, 24_036, 252),
    "AssistantProfessor": (146, 907, 1_822, 19_088, 188),
    "Lecturer": (93, 562, 1_128, 12_034, 126),
    "UndergraduateStudent": (5_916, 36_682, 75_547, 795_970, 8_229),
    "GraduateStudent": (1_874, 11_900, 24_019, 252_562, 2_555),
    "TeachingAssistant": (407, 2_643, 5_294, 55_994, 558),
    "ResearchAssistant": (547, 3_405, 6_960, 72_927, 705),
    "Course": (828, 5_063, 10_278, 108_634, 1_100),
    "GraduateCourse": (799, 5_032, 10_194, 108_514, 1_125),
    "Publication": (5_999, 37_854, 76_529, 808_741, 8_094),
    "ResearchGroup": (224, 1_371, 2_827, 30_036, 322),
}

# Number of lines per predicate.
PREDICATES_OF = {
    "name": (15_972, 100_002, 203_609, 2_148_830, 21_855),
    "emailAddress": (8_330, 51_955, 106_409, 1_120_834, 11_515),
    "telephone": (8_330, 51_955, 106_409, 1_120_834, 11_515),
    "researchInterest": (447, 2_811, 5_715, 60_268, 605),
    "takesCourse": (21_489, 134_051, 274_699, 2_894_749, 29_809),
    "teacherOf": (1_627, 10_095, 20_472, 217_148, 2_225),
    "undergraduateDegreeFrom": (2_414, 15_273, 30_862, 324_864, 3_286),
    "mastersDegreeFrom": (540, 3_373, 6_843, 72_302, 731),
    "doctoralDegreeFrom": (540, 3_373, 6_843, 72_302, 731),
    "advisor": (3_101, 19_371, 39_255, 411_501, 4_256),
    "memberOf": (7_790, 48_582, 99_566, 1_048_532, 10_784),
    "publicationAuthor": (10_634, 67_702, 136_871, 1_442_184, 14_508),
    "headOf": (15, 93, 189, 2_007, 20),
    "teachingAssistantOf": (407, 2_643, 5_294, 55_994, 558),
    "subOrganizationOf": (239, 1_464, 3_016, 32_043, 342),
    "worksFor": (540, 3_373, 6_843, 72_302, 731),
    "rdf:type": (20_659, 129_533, 263_427, 2_779_262, 28_208),
}

# Seed, university, department; number of full, associate and assistant professors, lecturers,
# undergraduates, graduates, teaching assistants, research assistants, groups; the chair; number of
# courses, graduate courses, publications; steps of the random generator, and its state.
TRACE = [
    (0, 0, 0, 10, 14, 10, 7, 532, 146, 29, 39, 10, 7, 61, 67, 460, 4917, 0x9FA6EE377468),
    (0, 0, 1, 10, 10, 8, 6, 411, 110, 27, 35, 19, 4, 48, 46, 383, 8707, 0xB0F14A23A4E),
    (0, 0, 2, 7, 12, 8, 7, 376, 107, 23, 34, 13, 4, 49, 47, 381, 12278, 0x85689A6DD813),
    (0, 0, 3, 9, 12, 10, 6, 340, 120, 25, 37, 18, 4, 55, 58, 430, 15867, 0xFCDF9F9C8D46),
    (0, 0, 4, 7, 10, 10, 7, 408, 136, 29, 44, 20, 3, 51, 51, 348, 19892, 0xBC047C8C7031),
    (0, 0, 5, 10, 11, 8, 6, 444, 110, 26, 31, 14, 4, 57, 50, 410, 23894, 0x8E84C64FF6F3),
    (0, 0, 6, 10, 10, 8, 6, 299, 106, 26, 26, 16, 1, 56, 48, 381, 27087, 0xE7CFDE80487A),
    (0, 0, 7, 7, 14, 10, 6, 454, 127, 25, 32, 20, 1, 63, 58, 417, 31344, 0xB9078D33D01D),
    (0, 0, 8, 9, 11, 11, 6, 436, 143, 34, 47, 18, 3, 62, 51, 422, 35677, 0xE097C37CEED0),
    (0, 0, 9, 7, 10, 11, 7, 322, 112, 24, 32, 12, 0, 48, 58, 355, 39058, 0x9ADC9590B53F),
    (0, 0, 10, 7, 11, 11, 7, 411, 138, 31, 46, 15, 5, 57, 48, 400, 43170, 0xFB7AD00B208F),
    (0, 0, 11, 8, 14, 11, 6, 382, 148, 29, 45, 13, 1, 59, 60, 443, 47259, 0x25BB205869E6),
    (0, 0, 12, 9, 11, 11, 5, 359, 117, 27, 34, 11, 2, 56, 53, 397, 50864, 0x95FEF930DF5D),
    (0, 0, 13, 8, 14, 11, 5, 477, 143, 30, 35, 13, 7, 55, 58, 407, 55448, 0x970764B6C8A5),
    (0, 0, 14, 7, 12, 8, 6, 265, 111, 22, 30, 12, 6, 51, 46, 365, 58480, 0x30E52CE7B21D),
    (0, 1, 0, 7, 12, 9, 7, 283, 119, 24, 30, 14, 5, 50, 54, 397, 3214, 0xFC9F4496EE72),
    (0, 2, 0, 8, 10, 8, 5, 370, 124, 24, 35, 15, 7, 46, 46, 344, 3708, 0x23FEA3E6B13B),
    (0, 3, 0, 9, 10, 11, 5, 418, 126, 28, 38, 18, 3, 49, 50, 382, 4042, 0xA56E9E0AE0E0),
    (0, 4, 0, 10, 13, 11, 5, 362, 148, 30, 45, 12, 2, 61, 60, 455, 3985, 0x455032C581D0),
    (7, 0, 0, 8, 14, 11, 7, 451, 123, 27, 41, 15, 5, 60, 63, 416, 4290, 0x98C1E1743B2F),
    (7, 0, 1, 7, 12, 8, 7, 474, 121, 24, 30, 15, 6, 47, 51, 379, 8535, 0x510071C63B82),
    (7, 0, 2, 10, 11, 9, 6, 427, 136, 29, 42, 14, 1, 55, 52, 392, 12721, 0xDD8225CABA4),
]
