// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestPlainBytes checks that eight bytes at a time never go past a byte that matters to
// nesting.
func TestPlainBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOf(rapid.SampledFrom([]byte("0123456789,,,  -+.\n\teE\"[]{}!#\\\x00\x7f\xff"))).Draw(t, "d")
		from := rapid.IntRange(0, len(d)).Draw(t, "from")
		end := plainBytes(d, from)
		if end < from || end > len(d) || bytes.ContainsFunc(d[from:end], func(r rune) bool { return r < 256 && brackets[r] }) {
			t.Fatalf("%q: from %d to %d", d, from, end)
		}
	})
	if end := plainBytes(bytes.Repeat([]byte("-1.5, 20\n"), 8), 0); end != 72 {
		t.Errorf("a list of numbers is gone over up to %d", end)
	}
}

// TestSkipContainer compares with a walk over every byte, in documents that are cut
// anywhere, too.
func TestSkipContainer(t *testing.T) {
	texts := rapid.SampledFrom([]string{"[", "]", "{", "}", `"a]"`, `"\"["`, "12345678", ", ", "10, 20, 30, 40", "true", "1e5", "\n    "})
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte("[")
		for _, s := range rapid.SliceOf(texts).Draw(t, "texts") {
			doc = append(doc, s...)
		}
		if got, want := skipContainer(doc, 0), everyByte(doc); got != want {
			t.Fatalf("%s: %d, not %d", doc, got, want)
		}
	})
}

// everyByte returns where the container at the beginning of a document ends.
func everyByte(doc []byte) int {
	for i, depth := 0, 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			i = skipText(doc, i) - 1
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(doc)
}

func BenchmarkSkip(b *testing.B) {
	for name, doc := range map[string][]byte{"integers": integers(1e6), "edges": edges(1e6)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if skipContainer(doc, 0) != len(doc) {
					b.Fatal("not the end")
				}
			}
		})
	}
}
