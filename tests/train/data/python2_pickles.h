// The bytes to which Python 2.7 with NumPy 1.16 pickles
//   {"training": [a, b], "validation": [c], "test": [d]}
//   a = array([[0, .5], [1, .25]]), b = array([[.1, .2], [.3, .4]]), c = array([[.75, 0], [0, 1]]),
//   d = array([[1, 1], [0, .125]])
// by pickle.dumps in protocol 0, and by cPickle.dumps in protocols 1 and 2.
#pragma once

#include <string>

namespace isinglass {

// clang-format off
inline const std::string kPickledSplits0(
    "(dp0\nS'test'\np1\n(lp2\ncnumpy.core.multiarray\n_reconstruct\np3\n(cnumpy\n"
    "ndarray\np4\n(I0\ntp5\nS'b'\np6\ntp7\nRp8\n(I1\n(I2\nI2\ntp9\ncnumpy\ndtype\n"
    "p10\n(S'f8'\np11\nI0\nI1\ntp12\nRp13\n(I3\nS'<'\np14\nNNNI-1\nI-1\nI0\n"
    "tp15\nbI00\nS'\\x00\\x00\\x00\\x00\\x00\\x00\\xf0?\\x00\\x00\\x00\\x00\\x00\\x00\\xf0"
    "?\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xc0?'\n"
    "p16\ntp17\nbasS'training'\np18\n(lp19\ng3\n(g4\n(I0\ntp20\ng6\ntp21\nRp22\n"
    "(I1\n(I2\nI2\ntp23\ng13\nI00\nS'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x"
    "00\\x00\\x00\\x00\\xe0?\\x00\\x00\\x00\\x00\\x00\\x00\\xf0?\\x00\\x00\\x00\\x00\\x00\\"
    "x00\\xd0?'\np24\ntp25\nbag3\n(g4\n(I0\ntp26\ng6\ntp27\nRp28\n(I1\n(I2\n"
    "I2\ntp29\ng13\nI00\nS'\\x9a\\x99\\x99\\x99\\x99\\x99\\xb9?\\x9a\\x99\\x99\\x99\\x99\\"
    "x99\\xc9?333333\\xd3?\\x9a\\x99\\x99\\x99\\x99\\x99\\xd9?'\np30\ntp31\n"
    "basS'validation'\np32\n(lp33\ng3\n(g4\n(I0\ntp34\ng6\ntp35\nRp36\n(I1\n"
    "(I2\nI2\ntp37\ng13\nI00\nS'\\x00\\x00\\x00\\x00\\x00\\x00\\xe8?\\x00\\x00\\x00\\x00\\"
    "x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\"
    "x00\\xf0?'\np38\ntp39\nbas.",
    926);
inline const std::string kPickledSplits1(
    "}q\001(U\004testq\002]q\003cnumpy.core.multiarray\n_reconstruct\nq\004(cnumpy\n"
    "ndarray\nq\005(K\000tU\001btRq\006(K\001(K\002K\002tcnumpy\ndtype\nq\007(U\002f8K\000"
    "K\001tRq\010(K\003U\001<NNNJ\377\377\377\377J\377\377\377\377K\000tbI00\n"
    "U \000\000\000\000\000\000\360?\000\000\000\000\000\000\360?\000\000\000\000\000\000\000"
    "\000\000\000\000\000\000\000\300?tbaU\010trainingq\011]q\n(h\004(h\005(K\000tU\001btR"
    "q\013(K\001(K\002K\002th\010I00\nU \000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\000\340?\000\000\000\000\000\000\360?\000\000\000\000\000\000\320?tbh\004(h\005(K\000"
    "tU\001btRq\014(K\001(K\002K\002th\010I00\nU \232\231\231\231\231\231\271?\232\231\231"
    "\231\231\231\311?333333\323?\232\231\231\231\231\231\331?tbeU\nvalidationq\015]q\016h"
    "\004(h\005(K\000tU\001btRq\017(K\001(K\002K\002th\010I00\nU \000\000\000\000\000\000\350"
    "?\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\000\360?tbau.",
    421);
inline const std::string kPickledSplits2(
    "\200\002}q\001(U\004testq\002]q\003cnumpy.core.multiarray\n_reconstruct\n"
    "q\004cnumpy\nndarray\nq\005K\000\205U\001b\207Rq\006(K\001K\002K\002\206cnumpy\n"
    "dtype\nq\007U\002f8K\000K\001\207Rq\010(K\003U\001<NNNJ\377\377\377\377J\377\377\377\377"
    "K\000tb\211U \000\000\000\000\000\000\360?\000\000\000\000\000\000\360?\000\000\000\000"
    "\000\000\000\000\000\000\000\000\000\000\300?tbaU\010trainingq\011]q\n(h\004h\005K\000"
    "\205U\001b\207Rq\013(K\001K\002K\002\206h\010\211U \000\000\000\000\000\000\000\000\000"
    "\000\000\000\000\000\340?\000\000\000\000\000\000\360?\000\000\000\000\000\000\320?tb"
    "h\004h\005K\000\205U\001b\207Rq\014(K\001K\002K\002\206h\010\211U \232\231\231\231\231"
    "\231\271?\232\231\231\231\231\231\311?333333\323?\232\231\231\231\231\231\331?tbeU\n"
    "validationq\015]q\016h\004h\005K\000\205U\001b\207Rq\017(K\001K\002K\002\206h\010\211"
    "U \000\000\000\000\000\000\350?\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\000\000\000\000\000\000\000\000\360?tbau.",
    398);
// clang-format on

}  // namespace isinglass
