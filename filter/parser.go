// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of an expression.
const (
	mostText  = 64 << 10 // bytes
	mostDepth = 100      // parentheses and negations within each other
)

// Parse parses an expression. If it is malformed, the error is a [*SyntaxError].
func Parse(text string) (*Expression, error) {
	if len(text) > mostText {
		return nil, &SyntaxError{1, fmt.Sprintf("a condition of %d bytes; at most %d are read. A mask can have any number of rows", len(text), mostText)}
	}
	if !utf8.ValidString(text) {
		return nil, &SyntaxError{1, "the condition is not UTF-8"}
	}
	p := &parser{lexer: lexer{text, 1}, made: &Expression{text: text}}
	err := p.advance()
	if err == nil {
		p.made.root, err = p.some(0)
	}
	if err == nil && p.is.kind != end {
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
	is   token // the present one
	made *Expression
}

// advance goes to the next token.
func (p *parser) advance() (err error) {
	p.is, err = p.next()
	return err
}

// accept goes past a token, if it is the present one.
func (p *parser) accept(k kind, text string) (bool, error) {
	if p.is.kind != k || p.is.text != text {
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
	is := fmt.Sprintf("%q", p.is.text)
	if p.is.kind == end {
		is = "the end"
	}
	return &SyntaxError{p.is.at, fmt.Sprintf("%s is missing here, before %s", want, is)}
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
		return nil, &SyntaxError{p.is.at, fmt.Sprintf("more than %d conditions within each other", mostDepth)}
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
	left := p.is
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
	case p.is.kind == mark && operators[p.is.text] != (places{}):
		return p.compared(left)
	case p.is.kind == keyword && (p.is.text == "in" || p.is.text == "not"):
		return p.listed(left)
	case p.is.kind == keyword && p.is.text == "is":
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
	c := &comparison{name: left.text, at: left.at, places: operators[p.is.text]}
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
	turn, ok := turned[p.is.text]
	if p.is.kind != mark || !ok {
		return nil, p.unexpected("a comparison such as ==")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.is.kind != name {
		return nil, &SyntaxError{p.is.at, "one side of a comparison must be the name of an array"}
	}
	c := &comparison{name: p.is.text, at: p.is.at, places: operators[turn], values: []token{left}}
	p.use(c.name)
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.close(c)
}

// close returns a comparison that must not go on.
func (p *parser) close(c *comparison) (condition, error) {
	if p.is.kind == mark && operators[p.is.text] != (places{}) {
		return nil, &SyntaxError{p.is.at, "a comparison has two sides; join two comparisons by and"}
	}
	return c, nil
}

// value parses a value.
func (p *parser) value() (token, error) {
	v := p.is
	switch {
	case v.kind == name && strings.EqualFold(v.text, "nan"):
		return v, &SyntaxError{v.at, "nothing equals NaN; write: is missing"}
	case v.kind == name:
		return v, &SyntaxError{v.at, fmt.Sprintf("%s is no value: write text in quotes; two arrays are not compared with each other", v.text)}
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
