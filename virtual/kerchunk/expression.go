// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/virtual/scan"
)

// node is an expression: a number, a variable, or an operation on one or two others.
type node struct {
	operator    byte // '+', '-', '*', '/' for //, '%', 'n' for a number, 'v' for a variable
	number      int64
	variable    int
	left, right *node // left is nil for a sign
}

// value returns the value of an expression. Text can only be a variable alone.
func (n *node) value(variables []value) (value, error) {
	if n.operator == 'v' {
		return variables[n.variable], nil
	}
	x, err := n.eval(variables)
	return value{number: x}, err
}

func (n *node) eval(variables []value) (int64, error) {
	switch n.operator {
	case 'n':
		return n.number, nil
	case 'v':
		if variables[n.variable].isText {
			return 0, scan.Unsupportedf("arithmetic with the text %q", variables[n.variable].text)
		}
		return variables[n.variable].number, nil
	}
	var a int64
	var err error
	if n.left != nil {
		if a, err = n.left.eval(variables); err != nil {
			return 0, err
		}
	}
	b, err := n.right.eval(variables)
	if err != nil {
		return 0, err
	}
	x, ok := calculate(n.operator, a, b)
	if !ok {
		return 0, scan.Corruptf("%d %c %d is no number of 64 bits", a, n.operator, b)
	}
	return x, nil
}

// calculate returns the result of an operation as in Python, and whether it fits.
func calculate(operator byte, a, b int64) (x int64, ok bool) {
	switch operator {
	case '+':
		x = a + b
		return x, (x > a) == (b > 0)
	case '-':
		x = a - b
		return x, (x < a) == (b > 0)
	case '*':
		return multiply(a, b)
	}
	if b == 0 || a == math.MinInt64 && b == -1 {
		return 0, false
	}
	// The quotient is rounded down, and the rest has the sign of b.
	quotient, rest := a/b, a%b
	if rest != 0 && (rest < 0) != (b < 0) {
		quotient, rest = quotient-1, rest+b
	}
	if operator == '%' {
		return rest, true
	}
	return quotient, true
}

func multiply(a, b int64) (int64, bool) {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	if high != 0 || low > math.MaxInt64 && !(negative && low == 1<<63) {
		return 0, false
	}
	if negative {
		return -int64(low), true
	}
	return int64(low), true
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// parser reads an expression.
type parser struct {
	text      string
	at        int
	depth     int
	variables []string
}

// maxDepth bounds parentheses and signs within others.
const maxDepth = 32

// parse returns the expression, and whether the text is one.
func (p *parser) parse() (*node, bool) {
	n := p.sum()
	p.space()
	return n, n != nil && p.at == len(p.text)
}

func (p *parser) space() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

// accept skips a token if it follows.
func (p *parser) accept(token string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.at:], token) {
		return false
	}
	p.at += len(token)
	return true
}

// sum reads products with + or - between them, or returns nil.
func (p *parser) sum() *node {
	n := p.product()
	for n != nil {
		operator := byte('+')
		if !p.accept("+") {
			if operator = '-'; !p.accept("-") {
				return n
			}
		}
		n = pair(operator, n, p.product())
	}
	return nil
}

// product reads terms with *, // or % between them.
func (p *parser) product() *node {
	n := p.term()
	for n != nil {
		switch {
		case p.accept("*"):
			n = pair('*', n, p.term()) // a second star is no term
		case p.accept("//"):
			n = pair('/', n, p.term())
		case p.accept("%"):
			n = pair('%', n, p.term())
		default:
			return n
		}
	}
	return nil
}

func pair(operator byte, left, right *node) *node {
	if right == nil {
		return nil
	}
	return &node{operator: operator, left: left, right: right}
}

// term reads a number, a variable, a sign with a term, or a sum in parentheses.
func (p *parser) term() *node {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil
	}
	switch {
	case p.accept("("):
		if n := p.sum(); n != nil && p.accept(")") {
			return n
		}
		return nil
	case p.accept("-"):
		return pair('-', nil, p.term())
	case p.accept("+"):
		return pair('+', nil, p.term())
	}
	return p.word()
}

// word reads a number or a variable.
func (p *parser) word() *node {
	begin := p.at
	for p.at < len(p.text) && isLetter(p.text[p.at]) {
		p.at++
	}
	word := p.text[begin:p.at]
	if i := slices.Index(p.variables, word); i >= 0 {
		return &node{operator: 'v', variable: i}
	}
	if word == "" || strings.Trim(word, "0123456789") != "" {
		return nil
	}
	number, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return nil
	}
	return &node{operator: 'n', number: number}
}

// isLetter reports whether c may be in a name.
func isLetter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// isName reports whether a text is a name.
func isName(text string) bool {
	for i := range len(text) {
		if !isLetter(text[i]) {
			return false
		}
	}
	return text != "" && text[0] > '9'
}
