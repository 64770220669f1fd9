// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var encodings = []KeyEncoding{DefaultSlash, DefaultDot, V2Dot, V2Slash}

func TestParseKeyEncoding(t *testing.T) {
	for _, c := range []struct {
		name, configuration string
		want                KeyEncoding
		err                 error
	}{
		{"default", "", DefaultSlash, nil},
		{"default", `{}`, DefaultSlash, nil},
		{"default", `{"separator":"/"}`, DefaultSlash, nil},
		{"default", `{"separator":"."}`, DefaultDot, nil},
		{"v2", "", V2Dot, nil},
		{"v2", `{"separator":"."}`, V2Dot, nil},
		{"v2", `{"separator":"\u002f"}`, V2Slash, nil},
		{"v2", `{"separator":"-"}`, 0, ErrInvalid},
		{"v2", `{"separator":"../"}`, 0, ErrInvalid},
		{"default", `{"separator":1}`, 0, ErrInvalid},
		{"default", `{"separator":"/","x":1}`, 0, ErrInvalid},
		{"default", `[]`, 0, ErrInvalid},
		{"default", `{`, 0, ErrInvalid},
		{"suffix", `{}`, 0, ErrUnsupported},
		{"", "", 0, ErrUnsupported},
	} {
		e := Extension{Name: c.name}
		if c.configuration != "" {
			e.Configuration = []byte(c.configuration)
		}
		got, err := ParseKeyEncoding(e)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s %s: %v, %v", c.name, c.configuration, got, err)
		}
	}
	for _, e := range encodings {
		if got, err := ParseKeyEncoding(e.Extension()); got != e || err != nil {
			t.Errorf("%v comes back as %v, %v", e, got, err)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		index []int64
		keys  [4]string
	}{
		{nil, [4]string{"c", "c", "0", "0"}},
		{[]int64{7}, [4]string{"c/7", "c.7", "7", "7"}},
		{[]int64{0, 10}, [4]string{"c/0/10", "c.0.10", "0.10", "0/10"}},
		{[]int64{0, 0, math.MaxInt64}, [4]string{"c/0/0/9223372036854775807", "c.0.0.9223372036854775807",
			"0.0.9223372036854775807", "0/0/9223372036854775807"}},
	} {
		for i, e := range encodings {
			if got := string(e.AppendKey([]byte("x"), c.index)); got != "x"+c.keys[i] {
				t.Errorf("%v of %v: %s", e, c.index, got)
			}
			if got, ok := e.ParseKey(c.keys[i], len(c.index), []int64{9}); !ok || !slices.Equal(got, c.index) {
				t.Errorf("%v of %s: %v, %v", e, c.keys[i], got, ok)
			}
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	for _, key := range []string{"", "c", "c/", "c//", "c/0/1/", "c/0/01", "c/+0/1", "c/-0/1", "c/0", "c/0/1/2", "/c/0/1", "C/0/1", "c.0.1",
		"c/0.1", "0/1", "c/0/1 ", "c/0/9223372036854775808", "c/0/99999999999999999999", "c/0/1e1", "c0/1", "c/0/x", "zarr.json"} {
		if index, ok := DefaultSlash.ParseKey(key, 2, nil); ok {
			t.Errorf("%q: %v", key, index)
		}
	}
	for _, key := range []string{"", "c", "00", "1", "0.0"} {
		if index, ok := V2Dot.ParseKey(key, 0, nil); ok {
			t.Errorf("%q: %v", key, index)
		}
	}
}

func TestKeysInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(encodings).Draw(t, "encoding")
		index := rapid.SliceOfN(rapid.Int64Min(0), 0, 8).Draw(t, "index")
		key := string(e.AppendKey(nil, index))
		if got, ok := e.ParseKey(key, len(index), nil); !ok || !slices.Equal(got, index) {
			t.Fatalf("%s: %v, %v", key, got, ok)
		}
		// "0" is the first chunk of rank 0 and of rank 1.
		if _, ok := e.ParseKey(key, len(index)+1, nil); ok && key != "0" {
			t.Fatalf("%s has another rank, too", key)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, key := range []string{"c", "0", "c/0/1", "0.12", "c.00", "c/9223372036854775808", "c/-1"} {
		for rank := range 3 {
			f.Add(key, rank)
		}
	}
	f.Fuzz(func(t *testing.T, key string, rank int) {
		for _, e := range encodings {
			if index, ok := e.ParseKey(key, rank&63, nil); ok && string(e.AppendKey(nil, index)) != key {
				t.Fatalf("%v: %q is read as %v", e, key, index)
			}
		}
	})
}

func TestKeysAllocate(t *testing.T) {
	index, dst := []int64{1, 22, 333}, make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { dst = DefaultSlash.AppendKey(dst[:0], index) }); n != 0 {
		t.Errorf("AppendKey allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { index, _ = DefaultSlash.ParseKey("c/1/22/333", 3, index) }); n != 0 {
		t.Errorf("ParseKey allocates %v times", n)
	}
}
