// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/virtual/scan"
)

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
		return scan.Corruptf("%d bytes at %d", r.Length, r.Offset)
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
