// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"errors"
	"strings"
	"testing"
)

// TestCutOff cuts a document off at every byte. What a file system may leave behind that
// place, white space or zero bytes, changes nothing.
func TestCutOff(t *testing.T) {
	const whole = `{"shape": [60, -1.5e+7], "ok" : true, "no":false, "x": null, "\u00e9\n": "a\tbé\ud83d\ude00😀", "attributes": {"n": {}, "l": []}}`
	if _, err := Parse([]byte(whole), Limits{}); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		for _, tail := range []string{"", "\n", " \t\r\n", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\n\x00"} {
			_, err := Parse([]byte(whole[:n]+tail), Limits{})
			var e *Error
			if !errors.Is(err, ErrCutOff) || !errors.Is(err, ErrSyntax) || !errors.As(err, &e) {
				t.Errorf("%q and %q: %v", whole[:n], tail, err)
				continue
			}
			if n > 0 && !strings.Contains(err.Error(), "the document is cut off: it ends ") || e.Offset > int64(n+len(tail)) {
				t.Errorf("%q and %q: %v", whole[:n], tail, err)
			}
		}
	}
	for text, want := range map[string]string{
		"": "the document is empty", " \n": "the document is empty", "\x00\x00": "the document has only zero bytes",
		`{"a`: "the document is cut off: it ends within a string (byte 3)", `{"a":`: "the document is cut off: it ends where a value is expected (byte 5)",
	} {
		if _, err := Parse([]byte(text), Limits{}); err == nil || !strings.HasSuffix(err.Error(), want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	// What is wrong otherwise is not cut off.
	for _, text := range []string{"{\"a\nb\": 1}", `{"a": tree}`, `{"a": 1]`, "{\"a\": \x00 1}", `{"a": "\x"}`, `{"a": "\u12"}`, `{"a": "\ud83d"}`, "{\"a\": \"\xff\"}", `{"a": 1} {`} {
		if _, err := Parse([]byte(text), Limits{}); err == nil || errors.Is(err, ErrCutOff) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
