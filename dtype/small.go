// SPDX-License-Identifier: Apache-2.0

package dtype

import "fmt"

// Small reports whether the bytes of an element have unused bits. This is so for integers
// and floats of fewer than 8 bits, and for structs with such fields. In memory, unused
// bits repeat the sign of an integer and are 0 in a float.
func (t Type) Small() bool {
	if t.kind != KindStruct {
		return t.Bits() > 0 && t.Bits() < 8
	}
	for h := t.fields; h != noFields; h = h.Value().next {
		f := h.Value().Field
		if f.Type.Small() {
			return true
		}
	}
	return false
}

// HasBool reports whether t is bool or a struct with a bool field, so that some bytes are
// not valid elements.
func (t Type) HasBool() bool {
	for h := t.fields; h != noFields; h = h.Value().next {
		if h.Value().Type.HasBool() {
			return true
		}
	}
	return t.kind == KindBool
}

// Normalize sets the unused bits of consecutive elements to the values that they have in
// memory; see [Type.Small].
func (t Type) Normalize(elems []byte) {
	switch {
	case t.kind == KindStruct:
		for h := t.fields; h != noFields; h = h.Value().next {
			f := h.Value().Field
			for at := f.Offset; f.Type.Small() && at < len(elems); at += t.size {
				f.Type.Normalize(elems[at : at+f.Type.size])
			}
		}
	case t.Small():
		unused := 8 - t.Bits()
		if t.kind == KindInt {
			for i, b := range elems {
				// The arithmetic shift repeats the sign.
				elems[i] = byte(int8(b<<unused) >> unused)
			}
			return
		}
		for i, b := range elems {
			elems[i] = b << unused >> unused
		}
	}
}

// checkSmall returns an error for bytes that Normalize would change.
func (t Type) checkSmall(elems []byte) error {
	for _, b := range elems {
		one := [1]byte{b}
		if t.Normalize(one[:]); one[0] != b {
			if t.kind == KindInt {
				return fmt.Errorf("%w: %d does not fit %s", ErrInvalid, int8(b), t)
			}
			return fmt.Errorf("%w: %d does not fit %s", ErrInvalid, b, t)
		}
	}
	return nil
}
