// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"

	"varve.dev/zarr/cf"
)

// Expression is a condition on the rows of a table, in words:
//
//	time >= 2020-01-01 and station == "K12"
//	quality in (1, 2) and not (depth < 5.5 or depth is missing)
//
// A comparison has the name of an array with one axis on one side, and a value on the
// other: a number, a date in the calendar of the array, a duration such as 6h, true or
// false, or text in single or double quotes, in which a quote is written twice. The
// operators are ==, !=, <, <=, > and >=. "in" compares with each value of a list, and
// "not in" with none of them equal. A date without a time of day is the whole day, and a
// month or a year is all of it, so <= 2020-12 includes the last day of December.
//
// An array of bools is a condition itself. Names that are keywords, or have other
// characters than letters, digits, dots and underscores, are written in backquotes.
//
// A comparison with a missing element, or with NaN, is false, also with != and "not in".
// "is missing" finds them. "not" inverts what it stands before, as everywhere.
type Expression struct {
	text  string
	root  condition
	names []string
}

// String returns the text of the expression.
func (e *Expression) String() string { return e.text }

// Names returns the names of the arrays, in the order in which they first occur.
func (e *Expression) Names() []string { return slices.Clone(e.names) }

// condition is a part of an expression.
type condition interface{ isCondition() }

// all is true where all of its parts are, and some where one of them is.
type (
	all  []condition
	some []condition
)

// inverse is true where the condition is false.
type inverse struct{ of condition }

// comparison is true where an element has a place beside one of the values. If none is
// set, it must have it beside all of them.
type comparison struct {
	name   string
	at     int // the character of the name
	places places
	values []token
	every  bool
}

// absence is true where an element is missing.
type absence struct {
	name string
	at   int
}

func (all) isCondition()         {}
func (some) isCondition()        {}
func (inverse) isCondition()     {}
func (*comparison) isCondition() {}
func (*absence) isCondition()    {}

// places are the orders of elements for which a comparison is true, in the order Below,
// Within, Above, Absent.
type places [4]bool

func (p places) has(o cf.Order) bool { return p[o+1] }

// operators are the places that operators stand for.
var operators = map[string]places{
	"==": {1: true}, "!=": {0: true, 2: true}, "<": {0: true}, "<=": {0: true, 1: true}, ">": {2: true}, ">=": {1: true, 2: true},
}

// turned are the operators with their sides exchanged.
var turned = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
