// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"testing"
)

// TestNoPackages checks that messages contain no names of Go packages, and no names of
// lock files if a permission is missing.
func TestNoPackages(t *testing.T) {
	for text, want := range map[string]string{
		"convert a: metadata: /codecs/0: no":                        "convert a: /codecs/0: no",
		"file: root: no":                                            "root: no",
		`append a: file: locking "__varve.lock": permission denied`: "append a: no permission to write there",
		"read the file: codec: gzip: bad":                           "read the file: gzip: bad",
		"a\nb":                                                      "a; b",
		"open a: /attributes: the attribute metadata is not an object": "open a: /attributes: the attribute metadata is not an object",
	} {
		if got := OneLine(errors.New(text)); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine(errors.Join(errors.New("a"), errors.New("b"))); got != "a; b" {
		t.Error(got)
	}
}
