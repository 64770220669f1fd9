// SPDX-License-Identifier: Apache-2.0

// Package kerchunk reads and writes references in the JSON of kerchunk, versions 0 and 1
// (kerchunk documentation, "References specification"): keys of a Zarr hierarchy whose
// values are given, or are bytes of other files.
//
// Templates may be names, as in {{u}}. In generators they may also be integer arithmetic
// with + - * // % and parentheses over the variables, as in {{(i + 1) * 1000}}, which
// means what it does in Python. All else that Jinja can do is refused.
//
// It also has the parts of the parquet form of kerchunk that need no library for Parquet:
// the document of a folder, and the records of its files. The separate module
// varve.dev/zarr/virtual/parquet reads and writes those files.
//
// The package opens no files and checks no URLs. References are hostile until proven
// otherwise: who reads a URL decides whether it may be read.
package kerchunk

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/virtual/scan"
)

// builder collects references.
type builder struct {
	list      []entry
	templates map[string]string
	urls      map[string]string // by their text in the document
	texts     pool
	made      []byte // scratch for generated text
	room      int64  // bytes that templates and generators may still make
}

// mostURLs bounds the URLs that are remembered, to keep equal ones once.
const mostURLs = 1 << 11

// encoded begins text that is base64.
const encoded = "base64:"

// addAll adds the references of an object.
func (b *builder) addAll(v strictjson.Value) error {
	if k := v.Kind(); k != strictjson.Object && k != strictjson.Null {
		return scan.Corruptf("the references are %s, where an object is needed", k)
	}
	b.list = slices.Grow(b.list, v.Len())
	b.urls = map[string]string{}
	for key, x := range v.Named() {
		e, err := b.entry(x)
		if err != nil {
			return named(string(key), err)
		}
		e.key = b.texts.keep(key)
		b.list = append(b.list, e)
	}
	return nil
}

// named says which reference has an error.
func named(key string, err error) error {
	return fmt.Errorf("reference %q: %w", strictjson.Abbreviate(key), err)
}

// entry returns a reference without its key: text, an object that stands for its text, or
// a URL with an offset and a length.
func (b *builder) entry(v strictjson.Value) (entry, error) {
	switch v.Kind() {
	case strictjson.String:
		return b.inline(v)
	case strictjson.Object:
		return entry{text: b.texts.keep(v.Raw()), length: inline}, nil
	case strictjson.Array:
		return b.bytesOf(v)
	}
	return entry{}, scan.Corruptf("%s, where text, an object or an array is needed", v.Kind())
}

// inline returns a value that is given.
func (b *builder) inline(v strictjson.Value) (entry, error) {
	text, err := unescaped(v)
	if err != nil {
		return entry{}, err
	}
	if rest, ok := bytes.CutPrefix(text, []byte(encoded)); ok {
		if text, err = base64.StdEncoding.AppendDecode(nil, rest); err != nil {
			return entry{}, scan.Corruptf("%v", err)
		}
	}
	return entry{text: b.texts.keep(text), length: inline}, nil
}

// unescaped returns the text of a string. It belongs to the document.
func unescaped(v strictjson.Value) ([]byte, error) {
	if raw := v.Raw(); len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	s, err := v.Str()
	if err != nil {
		return nil, scan.Corruptf("%v", err)
	}
	return []byte(s), nil
}

// bytesOf returns a reference to a file: [url] or [url, offset, length].
func (b *builder) bytesOf(v strictjson.Value) (e entry, err error) {
	n := v.Len()
	if n != 1 && n != 3 {
		return e, scan.Corruptf("%s, where a URL, an offset and a length, or only a URL are needed", quantity.Count(n, "elements"))
	}
	e.length = Whole
	for i, x := range v.Elements() {
		switch i {
		case 0:
			e.text, err = b.url(x)
		case 1:
			e.offset, err = number(x)
		case 2:
			e.length, err = number(x)
		}
		if err != nil {
			return e, err
		}
	}
	if n == 3 && e.length < 0 { // -1 and -2 mean something else here
		return e, scan.Corruptf("a length of %d", e.length)
	}
	return e, e.reference().check()
}

func number(v strictjson.Value) (int64, error) {
	n, err := v.Int64()
	if err != nil {
		return 0, scan.Corruptf("%v", err)
	}
	return n, nil
}

// url returns a URL without its templates. Equal ones share their memory.
func (b *builder) url(v strictjson.Value) (string, error) {
	text, err := unescaped(v)
	if err != nil {
		return "", err
	}
	if url, ok := b.urls[string(text)]; ok {
		return url, nil
	}
	key := b.texts.keep(text)
	url := key
	if len(b.templates) > 0 && bytes.Contains(text, []byte("{{")) {
		url, err = b.expand(key)
	}
	if err == nil && url == "" {
		err = scan.Corruptf("an empty URL")
	}
	if err != nil {
		return "", err
	}
	if len(b.urls) == mostURLs {
		clear(b.urls)
	}
	b.urls[key] = url
	return url, nil
}

// expand returns a text without its templates.
func (b *builder) expand(text string) (string, error) {
	t, err := b.compile(text, nil)
	if err != nil {
		return "", err
	}
	made, err := t.render(nil, nil)
	if err != nil {
		return "", err
	}
	return b.keepMade(made)
}

// keepMade returns a text that templates made.
func (b *builder) keepMade(text []byte) (string, error) {
	if b.room -= int64(len(text)); b.room < 0 {
		return "", scan.Unsupportedf("templates make more than the limit")
	}
	return b.texts.keep(text), nil
}

// pool keeps texts in large blocks.
type pool struct{ block *strings.Builder }

const poolBytes = 64 << 10

// keep returns a copy of a text.
func (p *pool) keep(text []byte) string {
	if len(text) > poolBytes/8 {
		return string(text)
	}
	if p.block == nil || p.block.Cap()-p.block.Len() < len(text) {
		p.block = &strings.Builder{}
		p.block.Grow(poolBytes)
	}
	begin := p.block.Len()
	p.block.Write(text)
	return p.block.String()[begin:]
}

const (
	// Suffix ends the names of files with references in JSON. Package virtual opens them
	// like manifests: refs.json/t2m.
	Suffix = ".json"
	// ParquetSuffix ends the names of folders with references in the parquet form, which
	// are opened in the same way: refs.parq/t2m.
	ParquetSuffix = ".parq"
	// LongParquetSuffix is the other name of such folders.
	LongParquetSuffix = ".parquet"
)
