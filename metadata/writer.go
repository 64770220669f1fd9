// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"strconv"

	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/strictjson"
)

// Marshal returns the canonical document of a. Its members are in a fixed order. It is
// indented by two spaces and ends with a newline. Marshal parses the document before it
// returns it, so its errors are those of [ParseArray].
//
// In format 2 it is the document .zarray, as it was read except for shape, chunks and
// [Array.WithNullFill]. Other changes have no effect on it; see [Array.ToV2].
func (a *Array) Marshal(l Limits) ([]byte, error) {
	if a.v2 != nil {
		return a.marshalV2(l)
	}
	w := newWriter(l, "array")
	w.member(shape).shape(a.Shape)
	w.member(dataType).extension(a.DataType, Extension.appendType)
	w.member(chunkGrid).extension(a.ChunkGrid, Extension.Append)
	w.member(chunkKeyEncoding).extension(a.ChunkKeyEncoding, Extension.Append)
	w.member(fillValue).raw(a.FillValue)
	w.member(codecs).extensions(a.Codecs)
	if a.StorageTransformers != nil {
		w.member(storageTransformers).extensions(a.StorageTransformers)
	}
	if a.DimensionNames != nil {
		w.member(dimensionNames).names(a.DimensionNames)
	}
	w.member(attributes).object(a.Attributes)
	w.entries(a.kept)
	return w.document()
}

// Marshal returns the canonical document of g. Its members are in a fixed order. It is
// indented by two spaces and ends with a newline. Marshal parses the document before it
// returns it, so its errors are those of [ParseGroup]. In format 2 it is the document
// .zgroup; attributes and consolidated metadata have documents of their own.
func (g *Group) Marshal(l Limits) ([]byte, error) {
	if g.v2 != nil {
		return g.marshalV2(l)
	}
	w := newWriter(l, "group")
	w.member(attributes).object(g.Attributes)
	if g.Consolidated != nil {
		w.member(consolidatedMetadata).consolidated(g.Consolidated)
	}
	w.entries(g.kept)
	return w.document()
}

// writer composes a document. It checks every piece of JSON from outside by itself, so
// that no piece can add further members. It keeps the first error.
type writer struct {
	buf    []byte
	at     string // pointer of the current member
	limits Limits
	err    error
}

func newWriter(l Limits, nodeType string) *writer {
	return &writer{buf: append([]byte(nil), `{"zarr_format":3,"node_type":"`+nodeType+`"`...), limits: l}
}

func (w *writer) fail(err error) {
	if err != nil && w.err == nil {
		w.err = prefixPointer(err, w.at)
	}
}

func (w *writer) member(f field) *writer { return w.named(f.String()) }

// named begins a member of the open object. The first member has no comma before it.
func (w *writer) named(name string) *writer {
	w.at = strictjson.Token(name)
	if w.buf[len(w.buf)-1] != '{' {
		w.buf = append(w.buf, ',')
	}
	w.buf = append(strictjson.AppendQuote(w.buf, name), ':')
	return w
}

// raw writes one JSON value.
func (w *writer) raw(b []byte) {
	v, err := strictjson.Parse(b, w.limits.json())
	// A value that is not JSON is empty here. The error is returned at the end.
	w.fail(err)
	w.buf = append(w.buf, v.Raw()...)
}

// object writes a JSON object, or {} for nil.
func (w *writer) object(b []byte) {
	if b == nil {
		b = []byte("{}")
	}
	w.raw(b)
}

func (w *writer) shape(shape []int64) {
	for i, n := range shape {
		w.open(i)
		w.buf = strconv.AppendInt(w.buf, n, 10)
	}
	w.close(len(shape))
}

func (w *writer) names(names []*string) {
	for i, name := range names {
		w.open(i)
		if name == nil {
			w.buf = append(w.buf, "null"...)
		} else {
			w.buf = strictjson.AppendQuote(w.buf, *name)
		}
	}
	w.close(len(names))
}

func (w *writer) extensions(list []Extension) {
	// Errors name the extension by its place in the list.
	at := w.at
	for i, e := range list {
		w.open(i)
		w.at = at + "/" + strconv.Itoa(i)
		w.extension(e, Extension.Append)
	}
	w.close(len(list))
}

// extension writes e as spell appends it. A configuration that is not one JSON value is
// refused here. One that is not an object is refused when the document is parsed again.
func (w *writer) extension(e Extension, spell func(Extension, []byte) []byte) {
	// The spelling was read from a document, but check it against the limits.
	if e.isUnchanged() {
		w.raw(spell(e, nil))
		return
	}
	if e.Configuration != nil {
		_, err := strictjson.Parse(e.Configuration, w.limits.json())
		w.fail(strictjson.Prefix(err, "/configuration"))
	}
	w.buf = spell(e, w.buf) // everything else in it is generated here
}

// open begins element i of a list.
func (w *writer) open(i int) {
	if i == 0 {
		w.buf = append(w.buf, '[')
	} else {
		w.buf = append(w.buf, ',')
	}
}

// close ends a list of n elements.
func (w *writer) close(n int) {
	// Without elements nothing has opened the list.
	if n == 0 {
		w.buf = append(w.buf, '[')
	}
	w.buf = append(w.buf, ']')
}

func (w *writer) consolidated(c *Consolidated) {
	w.buf = append(w.buf, `{"kind":"inline","must_understand":false,"metadata":{`...)
	for _, e := range c.entries {
		w.entry(e.path, e.raw)
	}
	// Refused entries may belong to another program, so write them again.
	for _, f := range c.refused {
		w.entry(f.path, f.raw)
		w.entries(f.repeats())
	}
	w.buf = append(w.buf, '}')
	w.entries(c.kept)
	w.buf = append(w.buf, '}')
}

// entry writes a member whose value was read from a document.
func (w *writer) entry(name string, raw []byte) {
	w.named(name)
	w.buf = append(w.buf, raw...)
}

// entries writes members that were read from a document.
func (w *writer) entries(list []member) {
	for _, m := range list {
		w.entry(m.name, m.raw)
	}
}

// document ends the document and parses it as a check. The layout that finish adds only
// changes its size.
func (w *writer) document() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	w.buf = append(w.buf, '}')
	if _, err := Parse(w.buf, w.limits); err != nil {
		return nil, err
	}
	doc, err := w.finish()
	// Write bare numbers as they were read, if the document is then valid.
	// A bare number is shorter than the string that stands for it.
	if bare := nonfinite.Bare(doc); len(bare) != len(doc) {
		if _, err := Parse(bare, w.limits); err == nil {
			return bare, nil
		}
	}
	return doc, err
}

// finish indents the document and checks its size.
func (w *writer) finish() ([]byte, error) {
	doc := append(strictjson.AppendIndent(make([]byte, 0, 2*len(w.buf)), w.buf), '\n')
	if err := w.limits.json().Check(len(doc)); err != nil {
		return nil, located(err)
	}
	return doc, nil
}

// rawOrNull writes one JSON value, or null for nil.
func (w *writer) rawOrNull(b []byte) {
	if b == nil {
		b = []byte("null")
	}
	w.raw(b)
}
