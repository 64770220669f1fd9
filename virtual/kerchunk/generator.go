// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"strconv"
	"strings"

	"varve.dev/zarr/internal/checked"
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
		return scan.Unsupportedf("a generator of more references (%d) than there is memory for (%d bytes)", lengths, b.room)
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
		return nil, scan.Unsupportedf("%d dimensions, at most %d are possible", dimensions.Len(), maxAxes)
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
		return a, scan.Unsupportedf("a range of %d numbers", n)
	}
	return a, nil
}
