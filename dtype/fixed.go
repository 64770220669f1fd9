// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"fmt"
	"strconv"
)

// FixedUTF32 returns the type of text of at most n code points, padded with zeros
// (zarr-extensions, "fixed_length_utf32"). It returns an error that wraps [ErrInvalid] if
// n is below 1, and [ErrUnsupported] if an element takes more than 1 MiB.
func FixedUTF32(n int) (Type, error) {
	if n > maxFixedSize/4 {
		return Type{}, tooLong("fixed_length_utf32")
	}
	return fixed(Type{name: "fixed_length_utf32", kind: KindUTF32, size: 4 * n, unit: 4})
}

// NullTerminated returns the type of byte strings of at most n bytes, padded with zeros,
// which is "S4" in NumPy for 4 bytes. It returns an error that wraps [ErrInvalid] if n is
// below 1, and [ErrUnsupported] if n exceeds 1 MiB.
func NullTerminated(n int) (Type, error) {
	return fixed(Type{name: "null_terminated_bytes", kind: KindTerminated, size: n, unit: 1})
}

// RawBytes returns the type of n bytes without meaning, which is "V4" in NumPy for 4
// bytes. The core specification has the same elements under the name "r32"; see [Parse].
// RawBytes returns an error that wraps [ErrInvalid] if n is below 1, and [ErrUnsupported]
// if n exceeds 1 MiB.
func RawBytes(n int) (Type, error) {
	return fixed(Type{name: "raw_bytes", kind: KindRaw, size: n, unit: 1})
}

func fixed(t Type) (Type, error) {
	switch {
	case t.size < 1:
		return Type{}, fmt.Errorf("%w: %s of %d bytes", ErrInvalid, t.name, t.size)
	case t.size > maxFixedSize:
		return Type{}, tooLong(t.name)
	}
	return t, nil
}

func tooLong(name string) error {
	return fmt.Errorf("%w: %s of more than %d bytes", ErrUnsupported, name, maxFixedSize)
}

// hasLength reports whether the configuration of t is its length in bytes.
func (t Type) hasLength() bool {
	return t.kind == KindUTF32 || t.kind == KindTerminated || t.name == "raw_bytes"
}

func (t Type) lengthString() string {
	if !t.hasLength() {
		return ""
	}
	return "[" + strconv.Itoa(t.size) + "]"
}
