// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"math/rand/v2"
	"testing"
)

// TestParts cuts random objects into parts, and checks the rules of the service and that
// no byte is lost, doubled or moved.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	sources := []*source{{}, {}, {}}
	const most = 40 << 20
	memory := make([]byte, most)
	for round := range 3000 {
		var all segments
		for range r.IntN(12) {
			n := r.Int64N(most)
			if r.IntN(2) == 0 {
				n = r.Int64N(6 << 20)
			}
			if r.IntN(3) == 0 {
				all = append(all, segment{data: pieces{memory[:n/2], memory[n/2 : n]}})
				continue
			}
			all = append(all, segment{source: sources[r.IntN(len(sources))], off: r.Int64N(1 << 40), n: n})
		}
		by := cuts{joined: leastPart + r.Int64N(12<<20), copied: 2*leastPart + r.Int64N(most)}
		join := r.IntN(4) == 0
		parts := all.parts(by, join)
		var again segments
		for i, p := range parts {
			n := p.size()
			switch {
			case i < len(parts)-1 && n < leastPart:
				t.Fatalf("round %d: part %d of %d has %d bytes", round, i, len(parts), n)
			case p.copied && (join || len(p.segments) != 1 || p.segments[0].source == nil || n < leastPart):
				t.Fatalf("round %d: part %d cannot be copied", round, i)
			case !p.copied && n > max(by.joined, 2*leastPart)+leastPart:
				t.Fatalf("round %d: part %d has %d bytes in memory", round, i, n)
			}
			again = append(again, p.segments...)
		}
		if want, got := flat(all), flat(again); !equal(want, got) {
			t.Fatalf("round %d: the parts are %v, want %v", round, got, want)
		}
	}
}

// flat joins neighbours: what remains is the object itself. New bytes are all alike.
func flat(g segments) (out segments) {
	for _, s := range g {
		if s.size() == 0 {
			continue
		}
		if s.source == nil {
			s = segment{n: s.size()}
		}
		if k := len(out) - 1; k >= 0 && out[k].source == s.source && (s.source == nil || out[k].off+out[k].n == s.off) {
			out[k].n += s.n
			continue
		}
		out = append(out, s)
	}
	return out
}

func equal(a, b segments) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].source != b[i].source || a[i].off != b[i].off || a[i].n != b[i].n {
			return false
		}
	}
	return true
}

// TestVersionText checks that the parts of a version are found again.
func TestVersionText(t *testing.T) {
	for _, c := range [][4]string{
		{`"abc"`, "", `"abc"`, ""}, {"abc", "", `"abc"`, ""}, {`"abc-12"`, "v1", `"abc-12"`, "v1"}, {`"abc"`, "null", `"abc"`, ""},
	} {
		v := makeVersion(c[0], c[1])
		tag, id := cut(v)
		if tag != c[2] || id != c[3] {
			t.Errorf("%s is %q and %q, want %q and %q", v, tag, id, c[2], c[3])
		}
	}
	if !makeVersion("", "").IsZero() {
		t.Error("a version without an ETag is not zero")
	}
}

// TestEscape checks the form of paths in signatures.
func TestEscape(t *testing.T) {
	if got, want := escape("/a$b&c+d,e:f;g=h@i!j*k'l(m)n/%20-._~"), "/a%24b%26c%2Bd%2Ce%3Af%3Bg%3Dh%40i%21j%2Ak%27l%28m%29n/%20-._~"; got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}
