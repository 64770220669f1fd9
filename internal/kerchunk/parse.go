// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/virtual/scan"
)

// Parse reads references. The result does not refer to text. Parse allocates at most
// about twice the memory of text, and what generators make.
//
// Errors wrap [scan.ErrCorrupt], or [scan.ErrUnsupported] for templates that are programs
// and for what is beyond the limits.
func Parse(text []byte, l Limits) (*References, error) {
	r, err := parse(text, l)
	if err != nil {
		return nil, fmt.Errorf("kerchunk: %w", err)
	}
	return r, nil
}

func parse(text []byte, l Limits) (*References, error) {
	v, err := strictjson.Parse(text, strictjson.Limits{Size: l.document()})
	switch {
	case errors.Is(err, strictjson.ErrLimit):
		return nil, fmt.Errorf("%w: %w", scan.ErrUnsupported, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", scan.ErrCorrupt, err)
	case v.Kind() != strictjson.Object:
		return nil, scan.Corruptf("the references are %s, where an object is needed", v.Kind())
	}
	b := &builder{room: l.generated()}
	if version, ok := v.Member("version"); !ok {
		err = b.addAll(v)
	} else {
		err = b.addVersion1(v, version)
	}
	if err != nil {
		return nil, err
	}
	r := &References{b.list}
	return r, r.sort()
}

// addVersion1 adds the references of a document of version 1.
func (b *builder) addVersion1(v, version strictjson.Value) error {
	if n, err := version.Int64(); err != nil || n != 1 {
		return scan.Unsupportedf("version %s of references; 0 and 1 are known", version.Brief())
	}
	templates, _ := v.Member("templates")
	if err := b.readTemplates(templates); err != nil {
		return err
	}
	refs, _ := v.Member("refs")
	if err := b.addAll(refs); err != nil {
		return err
	}
	generators, _ := v.Member("gen")
	if k := generators.Kind(); k != strictjson.Array && k != strictjson.Null {
		return scan.Corruptf("gen is %s, where an array is needed", k)
	}
	for i, g := range generators.Elements() {
		if err := b.generate(g); err != nil {
			return fmt.Errorf("gen/%d: %w", i, err)
		}
	}
	return nil
}

// readTemplates reads the names of templates and their texts.
func (b *builder) readTemplates(v strictjson.Value) error {
	if k := v.Kind(); k != strictjson.Object && k != strictjson.Null {
		return scan.Corruptf("templates is %s, where an object is needed", k)
	}
	b.templates = map[string]string{}
	for name, t := range v.Members() {
		text, err := t.Str()
		if err != nil {
			return scan.Corruptf("%v", err)
		}
		b.templates[name] = text
	}
	return nil
}

// Limits bounds the references that are read. A field that is not positive stands for the
// default.
type Limits struct {
	// Document is the largest size of a document in bytes. The default is 1 GiB, the
	// maximum 2 GiB minus one.
	Document int64
	// Generated is the most memory in bytes for what templates and generators make, or
	// for the pages and records of a Parquet file. A generated reference takes about 100.
	// The default is 256 MiB.
	Generated int64
}

const (
	// maxText bounds the bytes of a text that templates make.
	maxText = 16 << 10
	// entryBytes is about the memory of a reference without its texts.
	entryBytes = 64
)

func (l Limits) document() int64 {
	if l.Document <= 0 {
		return 1 << 30
	}
	return l.Document
}

func (l Limits) generated() int64 {
	if l.Generated <= 0 {
		return 256 << 20
	}
	return l.Generated
}

// References maps keys to references. It does not change, and is safe for concurrent use.
type References struct {
	list []entry // by key
}

// Reference says where a value is: its bytes, or bytes of a file.
type Reference struct {
	// URL names the file, as the references do: a URL, or a path that may be relative to
	// the references. "" means that the value is Data.
	URL string
	// Offset and Length are bytes of the file. The length [Whole] means all of the file,
	// and the offset is 0 then.
	Offset, Length int64
	// Data is the value if URL is "".
	Data []byte
}

// Whole is the length of a reference to a whole file.
const Whole = -1

// inline is the length of an entry whose text is the value itself.
const inline = -2

// entry is a reference. Most of the memory of references is that of entries.
type entry struct {
	key            string
	text           string // the URL or the value
	offset, length int64
}

func (e entry) reference() Reference {
	if e.length == inline {
		return Reference{Data: []byte(e.text)}
	}
	return Reference{URL: e.text, Offset: e.offset, Length: e.length}
}

// check returns an error if the bytes of a reference cannot exist.
func (r Reference) check() error {
	whole := r.Length == Whole && r.Offset == 0
	if r.URL != "" && !whole && (r.Offset < 0 || r.Length < 0 || r.Offset > math.MaxInt64-r.Length) {
		return scan.Corruptf("%s at %d", quantity.Count(r.Length, "bytes"), r.Offset)
	}
	return nil
}

// New returns references, of which no two may have the same key. It copies the data.
func New(list iter.Seq2[string, Reference]) (*References, error) {
	r := &References{}
	for key, x := range list {
		err := x.check()
		if !utf8.ValidString(key) || !utf8.ValidString(x.URL) {
			err = scan.Unsupportedf("a key or URL that is not UTF-8")
		}
		if err != nil {
			return nil, fmt.Errorf("kerchunk: %w", named(key, err))
		}
		e := entry{key: key, text: x.URL, offset: x.Offset, length: x.Length}
		if x.URL == "" {
			e = entry{key: key, text: string(x.Data), length: inline}
		}
		r.list = append(r.list, e)
	}
	return r, r.sort()
}

// sort orders the entries, and refuses equal keys.
func (r *References) sort() error {
	slices.SortFunc(r.list, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	for i := 1; i < len(r.list); i++ {
		if r.list[i-1].key == r.list[i].key {
			return scan.Corruptf("two references have the key %q", strictjson.Abbreviate(r.list[i].key))
		}
	}
	return nil
}

// Len returns the number of references.
func (r *References) Len() int { return len(r.list) }

// Find returns the reference of a key, and whether there is one.
func (r *References) Find(key string) (Reference, bool) {
	i, ok := r.search(key)
	if !ok {
		return Reference{}, false
	}
	return r.list[i].reference(), true
}

// search returns the position of a key, or of the first one after it.
func (r *References) search(key string) (int, bool) {
	return slices.BinarySearchFunc(r.list, key, func(e entry, key string) int { return cmp.Compare(e.key, key) })
}

// All yields the references in the order of their keys.
func (r *References) All() iter.Seq2[string, Reference] { return r.Below("") }

// Below yields the references whose keys begin with a prefix, in the order of their keys.
func (r *References) Below(prefix string) iter.Seq2[string, Reference] {
	return func(yield func(string, Reference) bool) {
		for i, _ := r.search(prefix); i < len(r.list) && strings.HasPrefix(r.list[i].key, prefix); i++ {
			if !yield(r.list[i].key, r.list[i].reference()) {
				return
			}
		}
	}
}

const (
	opening = `{"version":1,"refs":{`
	closing = "}}\n"
)

// Append appends the references as a document of version 1.
func (r *References) Append(dst []byte) []byte {
	dst = append(dst, opening...)
	for i, e := range r.list {
		dst = e.append(dst, i > 0)
	}
	return append(dst, closing...)
}

// WriteTo implements [io.WriterTo]. It writes what [References.Append] appends.
func (r *References) WriteTo(w io.Writer) (written int64, err error) {
	flush := func(b []byte) []byte {
		n := 0
		if err == nil {
			n, err = w.Write(b)
			written += int64(n)
		}
		return b[:0]
	}
	const most = 64 << 10
	b := append(make([]byte, 0, most), opening...)
	for i, e := range r.list {
		if b = e.append(b, i > 0); len(b) >= most/2 {
			b = flush(b)
		}
		if err != nil {
			return written, err
		}
	}
	flush(append(b, closing...))
	return written, err
}

// append appends a member, after a comma if it is not the first.
func (e entry) append(b []byte, comma bool) []byte {
	if comma {
		b = append(b, ',')
	}
	b = append(strictjson.AppendQuote(append(b, '\n'), e.key), ':')
	switch {
	case e.length == inline && isText(e.text):
		return strictjson.AppendQuote(b, e.text)
	case e.length == inline:
		b = base64.StdEncoding.AppendEncode(append(append(b, '"'), encoded...), []byte(e.text))
		return append(b, '"')
	}
	b = strictjson.AppendQuote(append(b, '['), e.text)
	if e.length != Whole {
		b = strconv.AppendInt(append(b, ','), e.offset, 10)
		b = strconv.AppendInt(append(b, ','), e.length, 10)
	}
	return append(b, ']')
}

// isText reports whether a value can be written as it is.
func isText(s string) bool {
	control := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }
	return utf8.ValidString(s) && !strings.HasPrefix(s, encoded) && !strings.ContainsFunc(s, control)
}
