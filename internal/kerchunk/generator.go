// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/virtual/scan"
)

// generator makes a reference for every combination of values of its variables.
type generator struct {
	key, url, offset, length template
	whole                    bool // offset and length are missing
	axes                     []axis
}

// maxAxes bounds the variables of a generator.
const maxAxes = 64

// axis has the values of a variable: a list, or n numbers that are step apart.
type axis struct {
	list        []value
	start, step int64
	n           int64
}

func (a axis) value(i int64) value {
	if a.list != nil {
		return a.list[i]
	}
	return value{number: a.start + i*a.step}
}

// generate adds the references of a generator.
func (b *builder) generate(v strictjson.Value) error {
	g, err := b.generator(v)
	if err != nil {
		return err
	}
	lengths := make([]int64, len(g.axes))
	for i, a := range g.axes {
		lengths[i] = a.n
	}
	count, ok := checked.Product(lengths...)
	if !ok || count > b.room/g.cost() {
		return scan.Unsupportedf("a generator of more references (%d) than there is memory for (%s)", lengths, quantity.Count(b.room, "bytes"))
	}
	b.room -= count * g.cost()
	variables := make([]value, len(g.axes))
	for i := range count {
		g.set(variables, i)
		if err := b.addGenerated(g, variables); err != nil {
			return err
		}
	}
	return nil
}

// cost is about the memory and work for a reference in bytes.
func (g *generator) cost() int64 {
	return entryBytes + int64(16*len(g.axes)+g.key.length+g.url.length+g.offset.length+g.length.length)
}

// set sets the variables for combination i. The last one runs fastest.
func (g *generator) set(variables []value, i int64) {
	for k := len(g.axes) - 1; k >= 0; k-- {
		variables[k] = g.axes[k].value(i % g.axes[k].n)
		i /= g.axes[k].n
	}
}

// addGenerated adds a reference.
func (b *builder) addGenerated(g *generator, variables []value) (err error) {
	e := entry{length: Whole}
	for _, x := range []struct {
		t  template
		to *string
	}{{g.key, &e.key}, {g.url, &e.text}} {
		if *x.to, err = b.make(x.t, variables); err != nil {
			return err
		}
	}
	if !g.whole {
		if e.offset, err = b.count(g.offset, variables); err != nil {
			return named(e.key, err)
		}
		if e.length, err = b.count(g.length, variables); err != nil {
			return named(e.key, err)
		}
	}
	if e.text == "" {
		err = scan.Corruptf("an empty URL")
	} else {
		err = e.reference().check()
	}
	if err != nil {
		return named(e.key, err)
	}
	b.list = append(b.list, e)
	return nil
}

// make returns the text of a template. A text like the one before shares its memory.
func (b *builder) make(t template, variables []value) (string, error) {
	var err error
	if b.made, err = t.render(b.made[:0], variables); err != nil {
		return "", err
	}
	if n := len(b.list); n > 0 && b.list[n-1].text == string(b.made) {
		return b.list[n-1].text, nil
	}
	return b.keepMade(b.made)
}

// count returns the number that a template makes. It is not negative.
func (b *builder) count(t template, variables []value) (int64, error) {
	var err error
	if b.made, err = t.render(b.made[:0], variables); err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.Trim(string(b.made), " "), 10, 64)
	if err != nil || n < 0 {
		return 0, scan.Corruptf("an offset or a length of %q", strictjson.Abbreviate(b.made))
	}
	return n, nil
}

// generator reads a generator.
func (b *builder) generator(v strictjson.Value) (*generator, error) {
	if v.Kind() != strictjson.Object {
		return nil, scan.Corruptf("%s, where an object is needed", v.Kind())
	}
	g := &generator{}
	dimensions, _ := v.Member("dimensions")
	if dimensions.Kind() != strictjson.Object {
		return nil, scan.Corruptf("dimensions is %s, where an object is needed", dimensions.Kind())
	}
	if dimensions.Len() > maxAxes {
		return nil, scan.Unsupportedf("%s, at most %d are possible", quantity.Count(dimensions.Len(), "dimensions"), maxAxes)
	}
	var names []string
	for name, x := range dimensions.Members() {
		a, err := readAxis(x)
		if err != nil {
			return nil, named(name, err)
		}
		g.axes, names = append(g.axes, a), append(names, name)
	}
	_, hasOffset := v.Member("offset")
	_, hasLength := v.Member("length")
	if g.whole = !hasOffset; hasOffset != hasLength {
		return nil, scan.Corruptf("an offset and a length are needed, or none of them")
	}
	for name, t := range map[string]*template{"key": &g.key, "url": &g.url, "offset": &g.offset, "length": &g.length} {
		if err := b.readTemplate(t, v, name, names); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// readTemplate reads a member of a generator. A number is a template, too.
func (b *builder) readTemplate(t *template, v strictjson.Value, name string, variables []string) (err error) {
	m, ok := v.Member(name)
	switch {
	case !ok && (name == "key" || name == "url"):
		return scan.Corruptf("%s is missing", name)
	case !ok:
		return nil
	case m.Kind() == strictjson.Number:
		*t, err = b.compile(string(m.Raw()), nil)
		return err
	}
	text, err := m.Str()
	if err != nil {
		return scan.Corruptf("%v", err)
	}
	*t, err = b.compile(text, variables)
	return err
}

// readAxis reads the values of a variable: a list, or start, stop and step of a range.
func readAxis(v strictjson.Value) (a axis, err error) {
	switch v.Kind() {
	case strictjson.Object:
		return readRange(v)
	case strictjson.Array:
		a.list = make([]value, 0, v.Len())
		for _, x := range v.Elements() {
			e := value{isText: x.Kind() == strictjson.String}
			if e.isText {
				e.text, err = x.Str()
			} else {
				e.number, err = number(x)
			}
			if err != nil {
				return a, err
			}
			a.list = append(a.list, e)
		}
		a.n = int64(len(a.list))
		return a, nil
	}
	return a, scan.Corruptf("%s, where an array or an object is needed", v.Kind())
}

// readRange reads a range as in Python.
func readRange(v strictjson.Value) (axis, error) {
	a, stop := axis{step: 1}, int64(0)
	for name, to := range map[string]*int64{"start": &a.start, "stop": &stop, "step": &a.step} {
		x, ok := v.Member(name)
		if !ok && name != "stop" {
			continue
		}
		var err error
		if *to, err = number(x); err != nil {
			return a, err
		}
	}
	var n uint64
	// Differences of int64 fit into uint64.
	switch {
	case a.step == 0:
		return a, scan.Corruptf("a step of 0")
	case a.step > 0 && stop > a.start:
		n = (uint64(stop)-uint64(a.start)-1)/uint64(a.step) + 1
	case a.step < 0 && stop < a.start:
		n = (uint64(a.start)-uint64(stop)-1)/magnitude(a.step) + 1
	}
	if a.n = int64(n); a.n < 0 {
		return a, scan.Unsupportedf("a range of %s", quantity.Count(n, "numbers"))
	}
	return a, nil
}

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
		return t, scan.Unsupportedf("a template of %s, at most %d are allowed", quantity.Count(len(text), "bytes"), maxText)
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
			return nil, scan.Unsupportedf("a template makes more than %s", quantity.Count(maxText, "bytes"))
		}
	}
	return dst, nil
}

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
