// SPDX-License-Identifier: Apache-2.0

package npy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/grid"
)

// parse reads the dictionary of a header, a Python literal.
func parse(text string) (Header, error) {
	p := &parser{rest: text}
	h, err := p.dictionary()
	if err != nil {
		return Header{}, fmt.Errorf("npy: header, byte %d: %w", len(text)-len(p.rest), err)
	}
	return h, nil
}

// parser reads the few kinds of Python literals that occur in headers.
type parser struct{ rest string }

// accept skips white space, and then token if it follows.
func (p *parser) accept(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

func (p *parser) need(token string) error {
	if !p.accept(token) {
		return fmt.Errorf("%w: %q is missing", ErrInvalid, token)
	}
	return nil
}

func (p *parser) dictionary() (Header, error) {
	var h Header
	seen := map[string]bool{}
	if err := p.need("{"); err != nil {
		return h, err
	}
	for !p.accept("}") {
		if err := p.member(&h, seen); err != nil {
			return h, err
		}
		if !p.accept(",") {
			if err := p.need("}"); err != nil {
				return h, err
			}
			break
		}
	}
	if p.accept(""); p.rest != "" {
		return h, fmt.Errorf("%w: text after the dictionary", ErrInvalid)
	}
	// Unknown and repeated keys were refused, so three keys are the three that are
	// needed.
	if len(seen) != 3 {
		return h, fmt.Errorf("%w: one of descr, fortran_order and shape is missing", ErrInvalid)
	}
	return h, nil
}

// member reads one key and its value.
func (p *parser) member(h *Header, seen map[string]bool) error {
	key, err := p.text()
	if err != nil {
		return err
	}
	if seen[key] {
		return fmt.Errorf("%w: %q occurs twice", ErrInvalid, key)
	}
	seen[key] = true
	if err := p.need(":"); err != nil {
		return err
	}
	switch key {
	case "descr":
		return p.descr(h)
	case "fortran_order":
		return p.boolean(&h.Fortran)
	case "shape":
		return p.tuple(&h.Shape)
	}
	return fmt.Errorf("%w: unknown key %q", ErrInvalid, key)
}

// text reads a string.
func (p *parser) text() (string, error) {
	p.accept("")
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", fmt.Errorf("%w: a string is missing", ErrInvalid)
	}
	quote, rest := p.rest[0], p.rest[1:]
	var text []byte
	for {
		end := strings.IndexAny(rest, string([]byte{quote, '\\'}))
		if end < 0 {
			return "", fmt.Errorf("%w: a string is not closed", ErrInvalid)
		}
		text = append(text, rest[:end]...)
		if rest[end] == quote {
			p.rest = rest[end+1:]
			return string(text), nil
		}
		r, size, ok := unescape(rest[end+1:])
		if !ok {
			return "", fmt.Errorf("%w: a string with an unknown escape", ErrInvalid)
		}
		text, rest = utf8.AppendRune(text, r), rest[end+1+size:]
	}
}

func (p *parser) boolean(v *bool) error {
	switch {
	case p.accept("True"):
		*v = true
	case p.accept("False"):
		*v = false
	default:
		return fmt.Errorf("%w: True or False is missing", ErrInvalid)
	}
	return nil
}

// tuple reads the shape: (), (3,), (3, 4).
func (p *parser) tuple(shape *[]int64) error {
	*shape = []int64{}
	if err := p.need("("); err != nil {
		return err
	}
	for !p.accept(")") {
		n, err := p.number()
		if err != nil {
			return err
		}
		if *shape = append(*shape, n); len(*shape) > grid.MaxRank {
			return fmt.Errorf("%w: more than %d axes", ErrInvalid, grid.MaxRank)
		}
		if p.accept(",") {
			continue
		}
		// In Python, (3) is a number, not a tuple.
		if len(*shape) == 1 {
			return fmt.Errorf("%w: a tuple of one number needs a comma", ErrInvalid)
		}
		return p.need(")")
	}
	return nil
}

// number reads a non-negative decimal number. Python 2 appended an L to large ones.
func (p *parser) number() (int64, error) {
	p.accept("")
	end := 0
	for end < len(p.rest) && p.rest[end] >= '0' && p.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(p.rest[:end], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: a length from 0 to 2^63-1 is missing", ErrInvalid)
	}
	p.rest = strings.TrimPrefix(p.rest[end:], "L")
	return n, nil
}
