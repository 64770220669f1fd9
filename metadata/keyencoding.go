package metadata

import (
	"fmt"
	"math"
	"strconv"

	"varve.dev/zarr/internal/strictjson"
)

// KeyEncoding makes the keys of chunks from their indices (zarr-specs v3.1 core, "Chunk key encoding").
// The four encodings give a chunk different keys, except for arrays of rank 0 and 1, where separators make
// less of a difference.
type KeyEncoding uint8

// The key encodings, and their keys of the chunk with the index (0, 1).
const (
	DefaultSlash KeyEncoding = iota // c/0/1
	DefaultDot                      // c.0.1
	V2Dot                           // 0.1
	V2Slash                         // 0/1
)

// ParseKeyEncoding reads a chunk key encoding. A separator is "/" or "."; without one, default has "/" and v2 has ".".
// Any other configuration is [ErrInvalid], an unknown name [ErrUnsupported]: whatever must_understand says, chunks
// cannot be found without it.
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
		return 0, under(err, "/configuration")
	case separator == "/":
		encoding = slash
	case separator == ".":
		encoding = dot
	}
	return encoding, nil
}

// keySeparator returns the separator of a configuration, "" where it has none.
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

// String returns the key of the chunk (0, 1) as an example of e.
func (e KeyEncoding) String() string { return string(e.AppendKey(nil, []int64{0, 1})) }

// Extension returns e as it is written in metadata, with its separator.
func (e KeyEncoding) Extension() Extension {
	return Extension{Name: e.Name(), Configuration: fmt.Appendf(nil, `{"separator":"%c"}`, e.Separator())}
}

// isDefault reports whether keys begin with "c".
func (e KeyEncoding) isDefault() bool { return e != V2Dot && e != V2Slash }

// AppendKey appends the key, relative to the array, of the chunk with the given index. An array of rank 0 has the one
// key "c" or, in the encodings of v2, "0". Indices have to be non-negative.
func (e KeyEncoding) AppendKey(dst []byte, index []int64) []byte {
	switch {
	case e.isDefault():
		dst = append(dst, 'c')
	case len(index) == 0:
		return append(dst, '0')
	}
	for i, n := range index {
		if i > 0 || e.isDefault() {
			dst = append(dst, e.Separator())
		}
		dst = strconv.AppendInt(dst, n, 10)
	}
	return dst
}

// ParseKey is the inverse of AppendKey: it returns the index, of the given rank, of the chunk with the key,
// appended to index[:0], and whether key is the key of a chunk. Only what AppendKey makes is:
// decimal numbers without sign or leading zeros that fit into int64.
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

// leadingIndex returns the canonical decimal number that key begins with and its length in bytes, 0 where there is none.
func leadingIndex(key string) (n int64, digits int) {
	for ; digits < len(key) && key[digits]-'0' < 10; digits++ {
		d := int64(key[digits] - '0')
		if digits > 0 && n == 0 || n > (math.MaxInt64-d)/10 {
			return 0, 0
		}
		n = n*10 + d
	}
	return n, digits
}
