// SPDX-License-Identifier: Apache-2.0

package likeness_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/test/fixture"
)

// TestSame compares JSON values: only the spelling may differ.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`0`, `0.0`, true}, {`0`, `-0`, false}, {`-0`, `-0.0e9`, true}, {`0e5`, `0`, true}, {`1`, `1.0e0`, true}, {`100`, `1e2`, true}, {`1E+2`, `1e2`, true}, {`0.001`, `1e-3`, true},
		{`9007199254740993`, `9007199254740992`, false}, {`0.1`, `0.1000000000000000001`, false}, {`1e400`, `10e399`, true}, {`1e400`, `1e401`, false}, {`-1`, `1`, false},
		{`1e99999999999999999999`, `1e99999999999999999999`, true}, {`1e99999999999999999999`, `1e99999999999999999998`, false},
		{`"a"`, ` "\u0061" `, true}, {`"NaN"`, `"nan"`, false}, {`"1"`, `1`, false}, {`{"a": 1, "b": [2]}`, `{"b":[2.0],"a":1}`, true}, {`{"a": null}`, `{}`, false},
		{`[1, 2]`, `[2, 1]`, false}, {`null`, `false`, false}, {`[]`, `{}`, false}, {`NaN`, `NaN`, true}, {`NaN`, ` NaN`, false}, {`1 1`, `1`, false}, {``, ``, true}, {``, `0`, false},
	} {
		if got := likeness.Same([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
		if got := likeness.Same([]byte(c.b), []byte(c.a)); got != c.want {
			t.Errorf("%s and %s: %v", c.b, c.a, got)
		}
	}
	if !likeness.Same(nil, nil) || likeness.Same(nil, []byte("null")) || likeness.Same(nil, []byte{}) {
		t.Error("no value is one")
	}
}

// TestPlain checks that all spellings of a value have one plain text, of the same value.
func TestPlain(t *testing.T) {
	const text = `{"a": [0, -1, 12300, 0.5, -0.0, 1e-7, 12345678901234567890123], "b<": {"c": "é\u2028\"", "d": null, "e": [true, {}]}, "": []}`
	want := likeness.Plain([]byte(text))
	if !json.Valid(want) || !likeness.Same(want, []byte(text)) {
		t.Errorf("%s", want)
	}
	s := &fixture.Speller{Rand: rand.New(rand.NewPCG(5, 6)), Digits: true}
	for range 100 {
		again := s.Again(text)
		if got := likeness.Plain([]byte(again)); string(got) != string(want) || !likeness.Same([]byte(again), []byte(text)) {
			t.Fatalf("%s\nis %s, want %s", again, got, want)
		}
	}
}
