// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/quantity"
)

// Bounds of an expression.
const (
	mostText  = 64 << 10 // bytes
	mostDepth = 100      // parentheses and negations within each other
)

// Parse parses an expression. If it is malformed, the error names the character, and
// wraps [zarr.ErrInvalidArgument].
func Parse(text string) (*Expression, error) {
	if len(text) > mostText {
		return nil, &syntaxError{1, fmt.Sprintf("a condition of %s; at most %d are read. A mask can have any number of rows", quantity.Count(len(text), "bytes"), mostText)}
	}
	if !utf8.ValidString(text) {
		return nil, &syntaxError{1, "the condition is not UTF-8"}
	}
	p := &parser{lexer: lexer{text, 1}, made: &Expression{text: text}}
	err := p.advance()
	if err == nil {
		p.made.root, err = p.some(0)
	}
	if err == nil && p.token.kind != end {
		err = p.unexpected("and, or, or the end")
	}
	if err != nil {
		return nil, err
	}
	return p.made, nil
}

// parser parses an expression by recursive descent.
type parser struct {
	lexer
	token token // the present one
	made  *Expression
}

// advance goes to the next token.
func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

// accept goes past a token, if it is the present one.
func (p *parser) accept(k kind, text string) (bool, error) {
	if p.token.kind != k || p.token.text != text {
		return false, nil
	}
	return true, p.advance()
}

// need is accept for a token that must be there.
func (p *parser) need(k kind, text string) error {
	ok, err := p.accept(k, text)
	if err == nil && !ok {
		err = p.unexpected(text)
	}
	return err
}

// unexpected returns the error of a token in the place of another one.
func (p *parser) unexpected(want string) error {
	is := fmt.Sprintf("%q", p.token.text)
	if p.token.kind == end {
		is = "the end"
	}
	return &syntaxError{p.token.at, fmt.Sprintf("%s is missing here, before %s", want, is)}
}

// some parses conditions that are joined by or.
func (p *parser) some(depth int) (condition, error) {
	list, err := p.joined("or", depth, p.all)
	if len(list) == 1 {
		return list[0], err
	}
	return some(list), err
}

// all parses conditions that are joined by and.
func (p *parser) all(depth int) (condition, error) {
	list, err := p.joined("and", depth, p.one)
	if len(list) == 1 {
		return list[0], err
	}
	return all(list), err
}

func (p *parser) joined(word string, depth int, parse func(int) (condition, error)) (list []condition, err error) {
	for more := true; more && err == nil; {
		var c condition
		if c, err = parse(depth); err == nil {
			list = append(list, c)
			more, err = p.accept(keyword, word)
		}
	}
	return list, err
}

// one parses a condition without and and or, except in parentheses.
func (p *parser) one(depth int) (condition, error) {
	if depth == mostDepth {
		return nil, &syntaxError{p.token.at, fmt.Sprintf("more than %s within each other", quantity.Count(mostDepth, "conditions"))}
	}
	if ok, err := p.accept(keyword, "not"); ok || err != nil {
		if err != nil {
			return nil, err
		}
		c, err := p.one(depth + 1)
		return inverse{c}, err
	}
	if ok, err := p.accept(mark, "("); ok || err != nil {
		if err != nil {
			return nil, err
		}
		c, err := p.some(depth + 1)
		if err == nil {
			err = p.need(mark, ")")
		}
		return c, err
	}
	return p.comparison()
}

// comparison parses a name with what is said about it.
func (p *parser) comparison() (condition, error) {
	left := p.token
	if left.kind != name && left.kind != value {
		return nil, p.unexpected("the name of an array")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if left.kind == value {
		return p.turned(left)
	}
	p.use(left.text)
	switch {
	case p.token.kind == mark && operators[p.token.text] != (places{}):
		return p.compared(left)
	case p.token.kind == keyword && (p.token.text == "in" || p.token.text == "not"):
		return p.listed(left)
	case p.token.kind == keyword && p.token.text == "is":
		return p.missing(left)
	}
	// A bool is a condition itself.
	return p.close(&comparison{name: left.text, at: left.at, places: operators["=="], values: []token{{value, "true", left.at}}})
}

// use notes the name of an array.
func (p *parser) use(name string) {
	if !slices.Contains(p.made.names, name) {
		p.made.names = append(p.made.names, name)
	}
}

// compared parses the operator and the value behind a name.
func (p *parser) compared(left token) (condition, error) {
	c := &comparison{name: left.text, at: left.at, places: operators[p.token.text]}
	if err := p.advance(); err != nil {
		return nil, err
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	c.values = []token{v}
	return p.close(c)
}

// turned parses the operator and the name behind a value.
func (p *parser) turned(left token) (condition, error) {
	turn, ok := turned[p.token.text]
	if p.token.kind != mark || !ok {
		return nil, p.unexpected("a comparison such as ==")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.token.kind != name {
		return nil, &syntaxError{p.token.at, "one side of a comparison must be the name of an array"}
	}
	c := &comparison{name: p.token.text, at: p.token.at, places: operators[turn], values: []token{left}}
	p.use(c.name)
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.close(c)
}

// close returns a comparison that must not continue.
func (p *parser) close(c *comparison) (condition, error) {
	if p.token.kind == mark && operators[p.token.text] != (places{}) {
		return nil, &syntaxError{p.token.at, "a comparison has two sides; join two comparisons by and"}
	}
	return c, nil
}

// value parses a value.
func (p *parser) value() (token, error) {
	v := p.token
	switch {
	case v.kind == name && strings.EqualFold(v.text, "nan"):
		return v, &syntaxError{v.at, "nothing equals NaN; write: is missing"}
	case v.kind == name:
		return v, &syntaxError{v.at, fmt.Sprintf("%s is no value: write text in quotes; two arrays are not compared with each other", v.text)}
	case v.kind != value:
		return v, p.unexpected("a value")
	}
	return v, p.advance()
}

// listed parses the list behind a name and in, or not in.
func (p *parser) listed(left token) (condition, error) {
	c := &comparison{name: left.text, at: left.at, places: operators["=="]}
	not, err := p.accept(keyword, "not")
	if not {
		c.places, c.every = operators["!="], true
	}
	if err == nil {
		err = p.need(keyword, "in")
	}
	if err == nil {
		err = p.need(mark, "(")
	}
	for more := true; more && err == nil; {
		var v token
		if v, err = p.value(); err == nil {
			c.values = append(c.values, v)
			more, err = p.accept(mark, ",")
		}
	}
	if err == nil {
		err = p.need(mark, ")")
	}
	return c, err
}

// missing parses is missing, or is not missing, behind a name.
func (p *parser) missing(left token) (condition, error) {
	err := p.advance()
	not := false
	if err == nil {
		not, err = p.accept(keyword, "not")
	}
	if err == nil {
		err = p.need(keyword, "missing")
	}
	if not {
		return inverse{&absence{left.text, left.at}}, err
	}
	return &absence{left.text, left.at}, err
}

// syntaxError says where an [Expression] is malformed.
type syntaxError struct {
	at     int // the character, counted from 1
	reason string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("at character %d: %s", e.at, e.reason) }

func (e *syntaxError) Unwrap() error { return zarr.ErrInvalidArgument }

// token is a word of an expression.
type token struct {
	kind kind
	text string // without quotes
	at   int    // the character, counted from 1
}

type kind int

const (
	end     kind = iota
	name         // of an array
	value        // a number, a date, or text in quotes
	keyword      // in lower case
	mark         // an operator, a parenthesis or a comma
)

// keywords have a meaning of their own. An array with such a name is written in
// backquotes.
var keywords = map[string]kind{
	"and": keyword, "or": keyword, "not": keyword, "in": keyword, "is": keyword, "missing": keyword,
	"true": value, "false": value, "inf": value,
}

// marks are the operators and separators, longest first.
var marks = []string{"==", "!=", "<=", ">=", "<", ">", "(", ")", ","}

// meant are spellings of other languages.
var meant = map[string]string{
	"=": "==", "<>": "!=", "&&": "and", "&": "and", "||": "or", "|": "or", "!": "not", "~": "not", "≤": "<=", "≥": ">=",
}

// lexer cuts an expression into tokens.
type lexer struct {
	rest string
	at   int // the next character, counted from 1
}

// next returns the next token.
func (l *lexer) next() (token, error) {
	space := strings.TrimLeftFunc(l.rest, unicode.IsSpace)
	l.skip(len(l.rest) - len(space))
	t := token{at: l.at}
	if l.rest == "" {
		return t, nil
	}
	first, _ := utf8.DecodeRuneInString(l.rest)
	switch {
	case first == '"' || first == '\'':
		return l.quoted(value)
	case first == '`':
		return l.quoted(name)
	case beginsValue(l.rest):
		return l.take(value, strings.IndexFunc(l.rest, func(r rune) bool { return !isPart(r) && !strings.ContainsRune(":+-", r) })), nil
	case unicode.IsLetter(first) || first == '_':
		t = l.take(name, strings.IndexFunc(l.rest, func(r rune) bool { return !isPart(r) }))
		if k, is := keywords[strings.ToLower(t.text)]; is {
			t.kind, t.text = k, strings.ToLower(t.text)
		}
		return t, nil
	}
	return l.mark()
}

// skip skips so many bytes.
func (l *lexer) skip(n int) {
	l.at += utf8.RuneCountInString(l.rest[:n])
	l.rest = l.rest[n:]
}

// take takes so many bytes as a token, or all if n is negative.
func (l *lexer) take(k kind, n int) token {
	if n < 0 {
		n = len(l.rest)
	}
	t := token{k, l.rest[:n], l.at}
	l.skip(n)
	return t
}

// isPart reports whether a character may continue a name or a value.
func isPart(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == '.'
}

// beginsValue reports whether a text, which is not empty, begins with a number or a date.
func beginsValue(text string) bool {
	signed := text[0] == '+' || text[0] == '-'
	if signed {
		text = text[1:]
	}
	return text != "" && (text[0] >= '0' && text[0] <= '9' || text[0] == '.' || signed && strings.HasPrefix(text, "inf"))
}

// quoted takes text in quotes. A quote within is written twice.
func (l *lexer) quoted(k kind) (token, error) {
	t, quote, from := token{kind: k, at: l.at}, l.rest[0], 1
	for {
		n := strings.IndexByte(l.rest[from:], quote)
		if n < 0 {
			return t, &syntaxError{t.at, fmt.Sprintf("the quote %c is not closed", quote)}
		}
		t.text += l.rest[from : from+n]
		if from += n + 1; from == len(l.rest) || l.rest[from] != quote {
			break
		}
		t.text += string(quote)
		from++
	}
	l.skip(from)
	return t, nil
}

// mark takes an operator or a separator.
func (l *lexer) mark() (token, error) {
	for _, m := range marks {
		if strings.HasPrefix(l.rest, m) && !strings.HasPrefix(l.rest, "<>") {
			return l.take(mark, len(m)), nil
		}
	}
	for _, n := range []int{3, 2, 1} { // ≤ has three bytes
		is := l.rest[:min(n, len(l.rest))]
		if word, ok := meant[is]; ok {
			return token{}, &syntaxError{l.at, fmt.Sprintf("write %s in place of %s", word, is)}
		}
	}
	r, _ := utf8.DecodeRuneInString(l.rest)
	return token{}, &syntaxError{l.at, fmt.Sprintf("the character %q has no meaning here; names of arrays with such characters are written in backquotes", r)}
}

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

func (p places) contains(o cf.Order) bool { return p[o+1] }

// operators are the places that operators stand for.
var operators = map[string]places{
	"==": {1: true}, "!=": {0: true, 2: true}, "<": {0: true}, "<=": {0: true, 1: true}, ">": {2: true}, ">=": {1: true, 2: true},
}

// turned are the operators with their sides exchanged.
var turned = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
