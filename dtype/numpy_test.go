// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"errors"
	"strings"
	"testing"
)

func TestNumPy(t *testing.T) {
	tests := map[string]string{
		"bool": "|b1", "int8": "|i1", "uint8": "|u1", "int32": "<i4", "uint64": "<u8", "float16": "<f2", "float64": "<f8",
		"complex64": "<c8", "complex128": "<c16", "r24": "|V3",
	}
	for name, want := range tests {
		if got, ok := parse(t, name).NumPy(); !ok || got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got, ok := (Type{}).NumPy(); ok {
		t.Errorf("zero Type: %q", got)
	}
}

func TestNumPyRoundTrip(t *testing.T) {
	for _, typ := range sample(t) {
		descr, ok := typ.NumPy()
		if !ok || typ.Kind() == KindRaw && typ.Name() != "raw_bytes" || strings.HasPrefix(typ.Name(), "complex_") {
			continue // NumPy has no such type, or another name for it
		}
		if back, big, err := FromNumPy(descr); err != nil || back != typ || big {
			t.Errorf("%s: %q is %s, %v: %v", typ, descr, back, big, err)
		}
		back, big, err := FromNumPy(">" + descr[1:])
		if err != nil || back != typ || big != (typ.Unit() > 1) {
			t.Errorf("%s: >%s is %s, %v: %v", typ, descr[1:], back, big, err)
		}
	}
}

func TestFromNumPyRefuses(t *testing.T) {
	tests := map[string]error{
		"": ErrInvalid, "i4": ErrInvalid, "=i4": ErrInvalid, "|i4": ErrInvalid, "hello": ErrInvalid, "|c8": ErrInvalid, "é": ErrInvalid,
		"<": ErrUnsupported, "<i3": ErrUnsupported, "<i04": ErrUnsupported, "<f16": ErrUnsupported, "|O": ErrUnsupported, "<U0": ErrUnsupported, "|S-4": ErrUnsupported, "|U3": ErrInvalid,
		"<M8[xs]": ErrUnsupported, "<M8[0s]": ErrUnsupported, "<m8[ns": ErrUnsupported, "<M4": ErrUnsupported, "|V0": ErrUnsupported, "|V-1": ErrUnsupported, "|V+1": ErrUnsupported, "|V03": ErrUnsupported, "|3": ErrUnsupported,
		"|V": ErrUnsupported, "|V1048577": ErrUnsupported, "|V18446744073709551617": ErrUnsupported, "| 0": ErrUnsupported,
	}
	for descr, want := range tests {
		if typ, _, err := FromNumPy(descr); !errors.Is(err, want) || !typ.IsZero() {
			t.Errorf("FromNumPy(%q) = %s, %v; want %v", descr, typ, err, want)
		}
	}
}

func FuzzFromNumPy(f *testing.F) {
	for _, descr := range []string{"<i4", ">f2", "|b1", "|V3", "|V03", "<c16", "|S4", ""} {
		f.Add(descr)
	}
	f.Fuzz(func(t *testing.T, descr string) {
		typ, big, err := FromNumPy(descr)
		if err != nil {
			if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("%q: %v", descr, err)
			}
			return
		}
		if back, ok := typ.NumPy(); !ok || back[1:] != descr[1:] || big && typ.Unit() == 1 {
			t.Fatalf("%q is %s, which is %q", descr, typ, back)
		}
	})
}
