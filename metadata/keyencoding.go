// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"math"
	"strconv"

	"varve.dev/zarr/internal/strictjson"
)

// KeyEncoding makes the keys of chunks from their indices (zarr-specs v3.1 core, "Chunk
// key encoding"). The four encodings give a chunk different keys, except that some agree
// for arrays of rank 0 or 1, whose keys have fewer separators.
type KeyEncoding uint8

// The key encodings, each with its key for the chunk with index (0, 1).
const (
	DefaultSlash KeyEncoding = iota // c/0/1
	DefaultDot                      // c.0.1
	V2Dot                           // 0.1
	V2Slash                         // 0/1
)

// ParseKeyEncoding parses a chunk key encoding. The separator is "/" or "."; by default
// it is "/" for the encoding default and "." for v2. Any other configuration is an error
// that wraps [ErrInvalid]. An unknown name is an error that wraps [ErrUnsupported] even
// if must_understand is false, because chunks cannot be found without the encoding.
func ParseKeyEncoding(e Extension) (KeyEncoding, error) {
	slash, dot, encoding := DefaultSlash, DefaultDot, DefaultSlash
	switch e.Name {
	case "default":
	case "v2":
		slash, dot, encoding = V2Slash, V2Dot, V2Dot
	default:
		name := strictjson.Abbreviate(e.Name)
		return 0, &Error{"/name", unsupportedf("chunk key encoding %q is not known; default and v2 are", name)}
	}
	if e.Configuration == nil {
		return encoding, nil
	}
	separator, err := keySeparator(e.Configuration)
	switch {
	case err != nil:
		return 0, prefixPointer(err, "/configuration")
	case separator == "/":
		encoding = slash
	case separator == ".":
		encoding = dot
	}
	return encoding, nil
}

// keySeparator returns the separator of a configuration, "" if it has none.
func keySeparator(configuration []byte) (separator string, err error) {
	v, err := object(configuration)
	if err != nil {
		return "", err
	}
	for name, m := range v.Named() {
		if string(name) != "separator" {
			return "", m.Errorf("unknown member; a chunk key encoding has a separator only")
		}
		if separator, err = m.Str(); err != nil {
			return "", err
		}
		if separator != "/" && separator != "." {
			return "", m.Errorf(`separator must be "/" or ".", got %q`, strictjson.Abbreviate(separator))
		}
	}
	return separator, nil
}

// Name returns the name of e in metadata.
func (e KeyEncoding) Name() string {
	if e.isDefault() {
		return "default"
	}
	return "v2"
}

// Separator returns the byte between the parts of a key.
func (e KeyEncoding) Separator() byte {
	if e == DefaultDot || e == V2Dot {
		return '.'
	}
	return '/'
}

// String returns the key of the chunk (0, 1) as an example.
func (e KeyEncoding) String() string { return string(e.AppendKey(nil, []int64{0, 1})) }

// Extension returns e in the form of metadata, with its separator.
func (e KeyEncoding) Extension() Extension {
	return Extension{Name: e.Name(), Configuration: fmt.Appendf(nil, `{"separator":"%c"}`, e.Separator())}
}

// isDefault reports whether keys begin with "c".
func (e KeyEncoding) isDefault() bool { return e != V2Dot && e != V2Slash }

// AppendKey appends the key of the chunk with the given index, relative to the array. An
// array of rank 0 has the single key "c" or, in the v2 encodings, "0". Indices must not
// be negative.
func (e KeyEncoding) AppendKey(dst []byte, index []int64) []byte {
	switch {
	case e.isDefault():
		dst = append(dst, 'c')
	// The specification gives an array of rank 0 in the v2 encoding the key "0".
	case len(index) == 0:
		return append(dst, '0')
	}
	for i, n := range index {
		// The default encoding has a separator after the "c", too.
		if i > 0 || e.isDefault() {
			dst = append(dst, e.Separator())
		}
		dst = strconv.AppendInt(dst, n, 10)
	}
	return dst
}

// ParseKey is the inverse of AppendKey. It appends the index of the chunk with the given
// key to index[:0]. It returns false if AppendKey makes no such key for the given rank:
// numbers must be decimal, without a sign or leading zeros, and fit into int64.
func (e KeyEncoding) ParseKey(key string, rank int, index []int64) ([]int64, bool) {
	index = index[:0]
	switch {
	case rank == 0 && !e.isDefault():
		return index, key == "0"
	case e.isDefault():
		if key == "" || key[0] != 'c' {
			return index, false
		}
		key = key[1:]
	}
	for i := range rank {
		if i > 0 || e.isDefault() {
			if key == "" || key[0] != e.Separator() {
				return index, false
			}
			key = key[1:]
		}
		n, digits := leadingIndex(key)
		if digits == 0 {
			return index, false
		}
		index, key = append(index, n), key[digits:]
	}
	return index, key == ""
}

// leadingIndex returns the canonical decimal number at the start of key and its length in
// bytes. The length is 0 if there is none.
func leadingIndex(key string) (n int64, digits int) {
	// The subtraction of bytes wraps around, so anything below '0' is not below 10.
	for ; digits < len(key) && key[digits]-'0' < 10; digits++ {
		d := int64(key[digits] - '0')
		// AppendKey writes neither leading zeros nor numbers that overflow.
		if digits > 0 && n == 0 || n > (math.MaxInt64-d)/10 {
			return 0, 0
		}
		n = n*10 + d
	}
	return n, digits
}
