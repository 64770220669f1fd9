// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"strconv"
	"strings"

	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/virtual/scan"
)

// template is a text with expressions in double braces.
type template struct {
	parts  []part
	length int // of the text in bytes
}

// part is a text or, if expression is not nil, what an expression makes.
type part struct {
	text       string
	expression *node
}

// value is the value of a variable: a number or a text.
type value struct {
	number int64
	text   string
	isText bool
}

// compile reads a text with templates. Variables are those of a generator.
func (b *builder) compile(text string, variables []string) (t template, err error) {
	if len(text) > maxText {
		return t, scan.Unsupportedf("a template of %d bytes, at most %d are allowed", len(text), maxText)
	}
	whole := text
	t.length = len(text)
	for text != "" {
		before, after, found := strings.Cut(text, "{{")
		if strings.Contains(before, "{%") || strings.Contains(before, "{#") {
			return t, refusal(whole)
		}
		if before != "" {
			t.parts = append(t.parts, part{text: before})
		}
		if !found {
			break
		}
		inside, rest, closed := strings.Cut(after, "}}")
		if !closed {
			return t, scan.Corruptf("%q: a template is not closed", strictjson.Abbreviate(whole))
		}
		p, err := b.part(inside, variables)
		if err != nil {
			return t, err
		}
		t.parts, text = append(t.parts, p), rest
	}
	return t, nil
}

// refusal is the error for templates that are programs.
func refusal(text string) error {
	return scan.Unsupportedf("the template %q: only names and integer arithmetic with + - * // %% and parentheses can be read", strictjson.Abbreviate(text))
}

// part returns what stands between double braces: the name of a template, or an
// expression over variables.
func (b *builder) part(inside string, variables []string) (part, error) {
	// A sign next to the braces is a command of Jinja.
	if strings.HasPrefix(inside, "-") || strings.HasSuffix(inside, "-") || strings.HasPrefix(inside, "+") {
		return part{}, refusal(inside)
	}
	p := &parser{text: inside, variables: variables}
	n, ok := p.parse()
	if ok {
		return part{expression: n}, nil
	}
	name := strings.Trim(inside, " ")
	text, known := b.templates[name]
	switch {
	case known && !strings.Contains(text, "{{") && !strings.Contains(text, "{%"):
		return part{text: text}, nil
	case !known && isName(name):
		return part{}, scan.Corruptf("there is no template %q", strictjson.Abbreviate(name))
	}
	return part{}, refusal(inside)
}

// render appends the text that a template makes.
func (t template) render(dst []byte, variables []value) ([]byte, error) {
	begin := len(dst)
	for _, p := range t.parts {
		if p.expression == nil {
			dst = append(dst, p.text...)
		} else if v, err := p.expression.value(variables); err != nil {
			return nil, err
		} else if v.isText {
			dst = append(dst, v.text...)
		} else {
			dst = strconv.AppendInt(dst, v.number, 10)
		}
		if len(dst)-begin > maxText {
			return nil, scan.Unsupportedf("a template makes more than %d bytes", maxText)
		}
	}
	return dst, nil
}
